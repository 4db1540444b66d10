# SPDX-License-Identifier: GPL-2.0-only
#
# From the paired documents of the gate, as an array, to the figures of the
# mcpage kernel, one a line: name, value, ratio to the base kernel. Not those of
# direct compaction, which come out differently after any change in the kernel.

.[] | .bench as $bench | .results[] |
select(.kernel == "mcpage" and .ratio and .effort != "direct") |
[([$bench, .case, .config, .order, .effort // empty] | map(tostring) | join(" ")),
 .value, (.ratio * 10000 | round / 10000)] | @tsv
