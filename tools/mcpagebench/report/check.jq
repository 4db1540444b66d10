# SPDX-License-Identifier: GPL-2.0-only
#
# Hold the measured figures to what is expected, and to the limits; as TAP.
# --rawfile expected, limits, measured: expected.tsv, limits.tsv, and what
# figures.jq printed.
#
# Compared is the ratio to the base kernel, which ran beside: another compiler
# or another 6.12.y moves both. A tenth of a unit is how figures are rounded,
# and of small ones more than a percent.

def tolerance: 0.01;
def rounding: 0.2;

def lines: split("\n") | map(select(. != "" and (startswith("#") | not)) / "\t");

def figures: lines | map({key: .[0], value: {value: .[1] | tonumber, ratio: .[2] | tonumber}}) |
	from_entries;

def percent:
	(. * 10000 | round) / 100 | if . < 0 then "\(.)%" else "+\(.)%" end;

def fits($pattern):
	[$pattern / " ", . / " "] | transpose |
	all(.[0] == "*" or .[0] == .[1]);

# Of some figures only the limit counts.
def loose($limits): . as $name | any($limits[]; .[2] == "only" and (.[0] as $p | $name | fits($p)));

def as_expected($name; $got; $want):
	if $got == null then {good: false, text: "\($name) was not measured"}
	elif $want == null then
		{good: false, text: "\($name) is \($got.value), nothing is expected"}
	else
		($got.ratio - $want.ratio) as $more |
		{
			good: (($more / $want.ratio | fabs) <= tolerance or
				($more * $got.value / $got.ratio | fabs) <= rounding),
			text: "\($name) is \($got.value), \($more / $want.ratio | percent) of what is expected"
		}
	end;

def within($limit; $got):
	($limit[1] | tonumber / 100) as $more |
	[$got | to_entries[] | .key as $name | select($name | fits($limit[0])) |
	{
		good: (.value.ratio <= 1 + $more),
		text: "\($name) costs \(.value.ratio - 1 | percent) beside the base kernel, at most \($more | percent)"
	}] |
	if . == [] then [{good: false, text: "no figure for the limit of \($limit[0])"}]
	else . end;

($expected | figures) as $want |
($measured | figures) as $got |
($limits | lines) as $limits |
[
	($want + $got | keys_unsorted[] | select(loose($limits) | not)) as $name |
	 as_expected($name; $got[$name]; $want[$name])
] + [
	$limits[] as $limit | within($limit; $got)[]
] |
"TAP version 13", "1..\(length)",
(to_entries[] | "\(if .value.good then "ok" else "not ok" end) \(.key + 1) - \(.value.text)")
