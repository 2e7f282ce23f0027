#pragma once

#include <sys/types.h>
#include <map>
#include <string>

namespace fusednn::testing {

/// This program once more, running one of its tests with other environment variables: what a process settles at its
/// start, such as the folder of compiled kernels, is settled anew. Such a test runs in children alone.
class ChildProcess {
 public:
  ChildProcess(std::string const& test, std::map<std::string, std::string> const& environment);
  ~ChildProcess();
  ChildProcess(ChildProcess const&) = delete;
  ChildProcess& operator=(ChildProcess const&) = delete;

  void kill();
  /// Waits for its end; whether it succeeded.
  bool succeeds();

 private:
  pid_t process_;
};

/// Whether this process is such a child.
bool in_child();

}  // namespace fusednn::testing
