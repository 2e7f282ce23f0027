"""Golden values of attention and of its two steps, in every form of mask."""

import itertools

import numpy as np

from cases import Family, eighths

NEG_INF = -np.inf


def visible_keys(s_q, s_kv, left, right, bottom_right, length_q, length_kv):
    """The mask of one batch, as semantics words it."""
    mask = np.zeros((s_q, s_kv), dtype=bool)
    offset = length_kv - length_q if bottom_right else 0
    for i in range(min(s_q, length_q)):
        for j in range(min(s_kv, length_kv)):
            mask[i, j] = (right is None or j <= i + offset + right) and (left is None or j > i + offset - left)
    return mask


def softmax(scores, mask):
    """Weights and log-sum-exp of one row; 0 and -inf where nothing is visible."""
    weights = np.zeros(len(scores))
    seen = np.flatnonzero(mask)
    if seen.size == 0:
        return weights, NEG_INF
    top = scores[seen].max()
    weights[seen] = np.exp(scores[seen] - top)
    total = weights.sum()
    return weights / total, top + np.log(total)


class Mask:
    def __init__(self, left=None, right=None, bottom_right=False, lengths=None, bias=None):
        self.left, self.right, self.bottom_right, self.lengths, self.bias = left, right, bottom_right, lengths, bias

    def attrs(self):
        attrs = {}
        if self.left is not None:
            attrs["left_bound"] = self.left
        if self.right is not None:
            attrs["right_bound"] = self.right
        if self.bottom_right:
            attrs["diagonal_alignment"] = "BOTTOM_RIGHT"
        return attrs

    def inputs(self):
        inputs = {}
        if self.lengths:
            for name, values in zip(("SEQ_LEN_Q", "SEQ_LEN_KV"), self.lengths):
                inputs[name] = (np.array(values).reshape(-1, 1, 1, 1), "INT32")
        if self.bias is not None:
            inputs["Bias"] = self.bias
        return inputs

    def of(self, b, s_q, s_kv):
        q, kv = (self.lengths[0][b], self.lengths[1][b]) if self.lengths else (s_q, s_kv)
        return visible_keys(s_q, s_kv, self.left, self.right, self.bottom_right, q, kv)


def softmax_of(scores, mask):
    """Weights and log-sum-exp of [B, H, S_q, S_kv] scores."""
    if mask.bias is not None:
        scores = scores + mask.bias
    weights, stats = np.zeros(scores.shape), np.zeros(scores.shape[:3] + (1,))
    for b, h, i in np.ndindex(scores.shape[:3]):
        seen = mask.of(b, *scores.shape[2:])[i] & (scores[b, h, i] != NEG_INF)
        weights[b, h, i], stats[b, h, i, 0] = softmax(scores[b, h, i], seen)
    return weights, stats


def spread_heads(t, heads):
    return np.repeat(t, heads // t.shape[1], axis=1)


def attention(q, k, v, scale, mask):
    heads = q.shape[1]
    weights, stats = softmax_of(scale * (q @ spread_heads(k, heads).swapaxes(2, 3)), mask)
    return {"O": weights @ spread_heads(v, heads), "Stats": stats}


def masks(b, h, s_q, s_kv):
    yield "no mask", Mask()
    for left, right in itertools.product((None, 1, 2), (None, 0, 1)):
        for bottom_right in (False, True):
            if left is not None or right is not None:
                yield f"left {left} right {right} bottom_right {bottom_right}", Mask(left, right, bottom_right)
    lengths = ([s_q, max(s_q - 1, 0)], [max(s_kv - 2, 0), s_kv])
    yield "lengths", Mask(lengths=lengths)
    yield "lengths of nothing", Mask(lengths=([0, s_q], [s_kv, 0]))
    yield "lengths, causal", Mask(right=0, lengths=lengths)
    yield "lengths, band from the bottom right", Mask(left=2, right=0, bottom_right=True, lengths=lengths)
    for shape in itertools.product((1, b), (1, h), (1, s_q), (1, s_kv)):
        bias = eighths(shape, 7)
        if shape[3] > 1:
            bias[..., 1] = NEG_INF
        yield f"bias {shape}", Mask(bias=bias)
    bias = eighths((1, 1, s_q, s_kv), 8)
    bias[0, 0, s_q - 1] = NEG_INF
    yield "bias that masks a row", Mask(right=1, bias=bias)
    lowest = np.full((1, 1, s_q, s_kv), -3.0e38)
    yield "bias of the lowest values", Mask(bias=lowest)


def make():
    f = Family("attention")
    b, h, s_q, s_kv, d, d_v = 2, 2, 3, 4, 2, 3
    q, k, v = eighths((b, h, s_q, d), 1), eighths((b, 1, s_kv, d), 2), eighths((b, h, s_kv, d_v), 3)
    stats, scale = {"generate_stats": True}, {"attn_scale_value": 0.5}
    for name, mask in masks(b, h, s_q, s_kv):
        attrs = {**stats, **scale, **mask.attrs(), **({"padding_mask": True} if mask.lengths else {})}
        f.add(name, "sdpa", {"Q": q, "K": k, "V": v, **mask.inputs()}, attention(q, k, v, 0.5, mask), attrs)
    for h_k, h_v in ((4, 4), (2, 2), (1, 1), (4, 1), (1, 2), (2, 4)):
        q, k, v = eighths((1, 4, 2, d), 4), eighths((1, h_k, 3, d), 5), eighths((1, h_v, 3, 2), 6)
        f.add(f"4 heads of Q, {h_k} of K, {h_v} of V", "sdpa", {"Q": q, "K": k, "V": v},
              {"O": attention(q, k, v, 1, Mask())["O"]})
    for s_q, s_kv in ((2, 5), (5, 2), (1, 5), (5, 1), (0, 2), (2, 0)):
        q, k, v = eighths((1, 1, s_q, d), 4), eighths((1, 1, s_kv, d), 5), eighths((1, 1, s_kv, 2), 6)
        for bottom_right in (False, True):
            mask = Mask(right=0, bottom_right=bottom_right)
            f.add(f"causal {s_q} x {s_kv}, bottom_right {bottom_right}", "sdpa", {"Q": q, "K": k, "V": v},
                  attention(q, k, v, 1, mask), {**stats, **mask.attrs()})
    q, k, v = eighths((1, 2, 3, d), 4), eighths((1, 2, 3, d), 5), eighths((1, 2, 3, 2), 6)
    f.add("a scale tensor", "sdpa", {"Q": q, "K": k, "V": v, "Attn_scale": np.full((1, 1, 1, 1), 0.75)},
          {"O": attention(q, k, v, 0.75, Mask())["O"]})
    result = attention(q, k, v, 1, Mask())
    f.add("stats to base 2", "sdpa", {"Q": q, "K": k, "V": v},
          {"O": result["O"], "Stats": result["Stats"] / np.log(2)}, {**stats, "stats_use_log2": True})
    q = q - 200 * np.sign(k.sum(axis=2, keepdims=True))
    f.add("very negative scores", "sdpa", {"Q": q, "K": k, "V": v}, attention(q, k, v, 1, Mask()), stats)

    b, h, s_q, s_kv = 2, 2, 3, 4
    scores, v = eighths((b, h, s_q, s_kv), 9), eighths((b, 1, s_kv, 2), 10)
    for name, mask in masks(b, h, s_q, s_kv):
        weights, log_sums = softmax_of(scores, mask)
        f.add(f"softmax, {name}", "masked_softmax", {"S": scores, **mask.inputs()}, {"P": weights, "Stats": log_sums}, mask.attrs())
        p = eighths((b, h, s_q, s_kv), 11)
        live = np.where(softmax_of(np.zeros((b, h, s_q, s_kv)), mask)[0] > 0, p, 0)
        f.add(f"product, {name}", "live_key_matmul", {"P": p, "V": v, **mask.inputs()}, {"O": live @ spread_heads(v, h)}, mask.attrs())
    weights, log_sums = softmax_of(scores, Mask())
    f.add("softmax, stats to base 2", "masked_softmax", {"S": scores}, {"P": weights, "Stats": log_sums / np.log(2)},
          {"stats_use_log2": True})
    f.write()


if __name__ == "__main__":
    make()
