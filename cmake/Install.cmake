include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fusednn")
install(TARGETS fusednn EXPORT fusednnTargets)
install(EXPORT fusednnTargets NAMESPACE fusednn:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/fusednnConfig.cmake.in "${PROJECT_BINARY_DIR}/fusednnConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fusednnConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/fusednnConfig.cmake" "${PROJECT_BINARY_DIR}/fusednnConfigVersion.cmake"
  DESTINATION "${package_dir}")
if(EXISTS "${PROJECT_SOURCE_DIR}/include")
  install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
