# SPDX-License-Identifier: GPL-2.0-only
#
# From what one benchmark printed on each kernel to one document with the
# kernels beside each other. The input is an array with, for each run,
#
#   {"kernel": "base", "doc": what the program printed}
#
# --arg name, --arg command: of the benchmark; --argjson icount: does its time
# count instructions?

def median:
	sort | if length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;

# The repeats of a result: the median of its value, and how far they went.
def merge:
	if length == 1 then .[0]
	else
		.[0] + {
			value: (map(.value) | median),
			min: (map(.value) | min),
			max: (map(.value) | max),
			repeats: length
		}
	end;

# In the order in which the program printed them.
def results($kernel):
	[.[] | select(.kernel == $kernel) | .doc.results[]] |
	to_entries |
	group_by(.value | [.case, .config, .order, .effort]) |
	sort_by(.[0].key) |
	map((map(.value) | merge) + {kernel: $kernel});

def own: {
	folio: "mthp", pages: "mthp", folio_upto: "mthp_upto",
	folio_mark: "mthp", folio_zap: "mthp", folio_split: "mthp",
	folio_64K: "mthp_64K", folio_2M: "thp_2M", adaptive: "thp_2M"
}[.] // .;

# Memory that the adaptive mode keeps in single pages.
def sparse: .config == "adaptive" and
	(.case | IN("random_all", "random_quarter", "stride_50K", "one_in_33"));

# What a result is compared with: the base kernel's own blocks of the same order,
# and for single pages, by whatever setting, its single pages. Where no block is
# to be had, or asked for, the blocks are not the point, so single pages there too.
def reference($base):
	. as $r |
	$base | map(select(.case == $r.case and
		(if ($r.order // 0) == 0 or .case == "fragmented_write" or ($r | sparse) then
			.config == "single"
		else
			.order == $r.order and .effort == $r.effort and
			.config == ($r.config | own)
		end))) | first;

results("base") as $base |
{
	bench: $name,
	command: $command,
	icount: $icount,
	kernels: (map({key: .kernel, value: .doc.kernel}) | from_entries),
	results: [
		($base, results("mcpage"), results("mainline"))[] |
		reference($base) as $ref |
		if ($ref.value // 0) > 0 and .value then
			. + {ratio: (.value / $ref.value)}
		else . end
	]
}
