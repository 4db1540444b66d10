# SPDX-License-Identifier: GPL-2.0-only
#
# From the paired documents of all benchmarks, as an array, to tables and plots.
# --arg format: markdown, rst, or plots (a JSON document a line).

# --- Cells ---

def decimals($n):
	pow(10; $n) as $unit |
	(. * $unit | round) as $scaled |
	($scaled | fabs | floor | tostring) as $digits |
	(if $scaled < 0 then "-" else "" end) +
	if $n == 0 then $digits
	else
		("0" * ([$n + 1 - ($digits | length), 0] | max) // "") + $digits |
		.[:-$n] + "." + .[-$n:]
	end;

def number: if . == null then "-" else decimals(if fabs >= 100000 then 0 else 1 end) end;
def whole: if . == null then "-" else decimals(0) end;
def million: if . == null then "-" else . / 1000000 | decimals(1) end;
def mebibytes: if . == null then "-" else . / 1024 | decimals(1) end;

# 1.0123 is "+1.23%"; far from 1, a factor.
def percent:
	if . == null then "-"
	elif . >= 10 then decimals(1) + "x"
	else (. - 1) * 100 | (if . >= 0 then "+" else "" end) + decimals(2) + "%"
	end;

def relative($now; $was):
	if $now == null or ($was // 0) == 0 then "-"
	else ($now / $was - 1) * 100 | (if . >= 0 then "+" else "" end) + decimals(1) + "%"
	end;

def size:
	if . == 0 then "4K"
	else pow(2; . + 2) | if . >= 1024 then "\(. / 1024)M" else "\(.)K" end
	end;

# --- Choosing ---

def pick($kernel; $config; $order):
	map(select(.kernel == $kernel and .config == $config and .order == $order)) |
	first;

def distinct: reduce .[] as $x ([]; if index([$x]) then . else . + [$x] end);

# A kernel that was not run says so in its column.
def ran($doc; $kernel; f):
	if $doc.kernels[$kernel] then f else "not run" end;

# --- Costs by size of block ---

def own($order): if $order == 0 then "single" else "mthp" end;
def folio($order): if $order == 0 then "unused" else "folio" end;

def setting($config; $order):
	if $config == "folio" then folio($order) else $config end;

# A row for each order; beside the other kernels, those configurations of mcpage.
def by_order($doc; $configs):
	. as $results |
	(map(.order) | unique) as $orders |
	[$configs[] | ltrimstr("folio_")] as $names |
	{
		title: "\(.[0].case), per \(.[0].per)",
		header: (["block", "base", "mainline"] + [$names[] | ., "to base"]),
		rows: [$orders[] as $order |
			$results |
			[($order | size),
			 (pick("base"; own($order); $order).value | number),
			 ran($doc; "mainline";
				pick("mainline"; own($order); $order).value | number),
			 (pick("mcpage"; setting($configs[]; $order); $order) |
				(.value | number), (.ratio | percent))]],
		plot: {
			name: .[0].case,
			header: (["block", "base", "mainline"] + $names),
			rows: [$orders[] as $order |
				$results |
				[($order | size),
				 (pick("base"; own($order); $order),
				  pick("mainline"; own($order); $order),
				  pick("mcpage"; setting($configs[]; $order); $order) |
				  if .value then .value else "-" end)]]
		}
	};

def single_pages($doc):
	{
		title: "Single pages, by setting",
		header: ["case", "base", "mainline", "never", "advise, unused",
			"advise, used by others", "a policy of none"],
		rows: [(map(.case) | distinct)[] as $case |
			map(select(.case == $case)) |
			[$case,
			 (pick("base"; "single"; 0).value | number),
			 ran($doc; "mainline"; pick("mainline"; "single"; 0).value | number),
			 (pick("mcpage"; ("never", "unused", "advise", "empty"); 0) |
			  if . then "\(.value | number) (\(.ratio | percent))" else "-" end)]]
	};

def cost_tables:
	. as $doc |
	.results |
	[(map(.case) | distinct)[] as $case |
	 map(select(.case == $case)) | by_order($doc; ["folio", "pages"])] +
	[map(select(.order == 0)) | single_pages($doc)];

# --- MADV_FREE ---

def lazyfree_ways: ["folio_mark", "folio_zap", "folio_split"];
def whole_only: IN("madvise_free", "reclaim_lazyfree");

# What else is known of parts; a row for each case that has it, and each order.
def lazyfree_table($doc; $title; $key; f):
	map(select(.case | whole_only | not)) |
	{
		title: $title,
		header: (["case", "block", "base", "mainline"] +
			[lazyfree_ways[] | ltrimstr("folio_")]),
		rows: [group_by([.case, .order])[] |
			def cell: .[$key] | if . == null then "-" else f end;
			[.[0].case, (.[0].order | size),
			 (pick("base"; "mthp"; .[0].order) | cell),
			 (.[0].order as $order | ran($doc; "mainline";
				pick("mainline"; "mthp"; $order) | cell)),
			 (pick("mcpage"; lazyfree_ways[]; .[0].order) | cell)]]
	};

def lazyfree_tables:
	. as $doc |
	.results |
	[(map(.case) | distinct)[] as $case |
	 map(select(.case == $case)) |
	 by_order($doc; if $case | whole_only then ["folio"] else lazyfree_ways end)] +
	[(map(select(.case | endswith("_refault"))) |
	  lazyfree_table($doc; "Page faults, per page of the region"; "faults"; decimals(3))),
	 (map(select(.case | endswith("_refault") | not)) |
	  lazyfree_table($doc; "Present afterwards, MiB of 64"; "present_kib"; mebibytes)),
	 (map(select(.given_back_kib)) |
	  lazyfree_table($doc; "Given back by reclaim, MiB"; "given_back_kib"; mebibytes))];

# --- The same in wall-clock time: only ratios mean something elsewhere ---

def spread: "\(.ratio | percent), \(relative(.min; .value)) to \(relative(.max; .value))";

def timed_tables:
	. as $doc |
	.results as $results |
	[{
		title: "Time to that of the base kernel, and how far repeats were apart",
		header: ["case", "block", "mainline", "folio", "pages"],
		rows: [($results | map(.case) | distinct)[] as $case |
			($results | map(.order) | unique)[] as $order |
			$results | map(select(.case == $case)) |
			[$case, ($order | size),
			 ran($doc; "mainline"; pick("mainline"; own($order); $order) |
				if . then spread else "-" end),
			 (pick("mcpage"; (folio($order), "pages"); $order) |
			  if . then spread else "-" end)]]
	}];

# --- Programs ---

def limit_of($config; $order):
	if $config == "adaptive" then "adaptive"
	elif $config | endswith("_upto") then "up to \($order | size)"
	else $order | size end;

def macro_rows($doc; $key; f):
	.results as $results |
	def of($kernel; $config; $order): $results | pick($kernel; $config; $order);
	def cell($r; $none):
		if $r == null then "-"
		else ($r[$key] | f) + if $r.order == 0 then ""
			else " (\(relative($r[$key]; $none[$key])))" end
		end;
	[($results | map(select(.kernel == "mcpage") | [.config, .order]) | distinct)[] |
	 .[1] as $order |
	 (if $order == 0 then "single" else .[0] | sub("folio"; "mthp") end) as $own |
	 [limit_of(.[0]; $order),
	  cell(of("base"; $own; $order); of("base"; "single"; 0)),
	  ran($doc; "mainline"; cell(of("mainline"; $own; $order); of("mainline"; "single"; 0))),
	  cell(of("mcpage"; .[0]; $order); of("mcpage"; "never"; 0))]];

def macro_tables:
	. as $doc |
	def table($title; $key; f):
		{
			title: $title,
			header: ["blocks", "base", "mainline", "mcpage"],
			rows: macro_rows($doc; $key; f)
		};
	[table("Page faults"; "faults"; whole),
	 table("Peak RSS, MiB"; "rss_kib"; mebibytes),
	 table("Instructions, million"; "value"; million)] +
	if any(.results[]; .copied_kib) then
		[table("Memory that was copied on write, MiB"; "copied_kib"; mebibytes)]
	else [] end;

# --- Latency ---

def latency_row($doc):
	[.kernel, .config, (.order | size), .effort // "-",
	 ((.p50, .p99, .p999, .max) | whole), (.blocks | whole), (.faults | whole),
	 (.compact_stall + .allocstall | whole)];

def write_row:
	[.kernel, .config, .effort // "-", (.value | number), (.ratio | percent),
	 (.blocks | whole), (.compact_stall + .allocstall | whole)];

def latency_tables:
	. as $doc |
	.results as $results |
	[($results | map(.case) | distinct)[] as $case |
	 ($results | map(select(.case == $case))) as $of |
	 if $case | startswith("fragmented_write") then
		{
			title: "Writing where no block is free, all orders allowed, per page",
			header: ["kernel", "setting", "effort", "instructions",
				"to base 4K", "blocks", "stalls"],
			rows: [$of[] | write_row]
		}
	 else
		{
			title: "One fault, \($case) memory",
			header: ["kernel", "setting", "block", "effort", "p50", "p99",
				"p99.9", "max", "blocks", "faults", "stalls"],
			rows: [$of[] | latency_row($doc)],
			plot: {
				name: $case,
				kind: "tail",
				lines: [$of[] | select(.histogram and (.order | IN(0, 4))) |
					{
						name: ([.kernel, .config, (.order | size), .effort // empty] |
							join(" ")),
						histogram
					}]
			}
		}
	 end];

# --- Sparse use ---

def bloat_row:
	[.config, .kernel, (.value | million), (.rss_kib | mebibytes),
	 (.peak_kib | mebibytes),
	 if .missing then "this kernel has no \(.missing)"
	 elif .killed then "killed: out of memory"
	 else "done" end];

def bloat_tables:
	.results as $results |
	[($results | map(.case) | distinct)[] as $case |
	{
		title: "Sparse use, \($case)",
		header: ["configuration", "kernel", "million instructions", "RSS, MiB",
			"peak, MiB", "outcome"],
		rows: [$results[] | select(.case == $case) | bloat_row]
	}];

# --- The adaptive mode ---

# The same configuration in a program's document, by the name that it has here.
def by_pattern_name:
	if .config | IN("single", "never") then "single"
	elif .config == "adaptive" then "adaptive"
	elif .config | IN("mthp", "folio") then
		(if .config == "mthp" and .order == 9 then "thp" else .config end) +
		"_\(.order | size)"
	else null end;

def program_rows:
	[.[] | select(.bench != "adaptive" and
		any(.results[]; .config == "adaptive" and .blocks)) |
	 .results[] | .config = by_pattern_name];

# A row for each pattern, a column for each way to choose the order.
def adaptive_table($title; $key; f):
	. as $results |
	# Programs come last, and add none.
	(map(select(.case == $results[0].case) | [.kernel, .config])) as $columns |
	{
		title: $title,
		header: (["pattern"] + [$columns[] | join(" ") | gsub("_"; " ")]),
		rows: [($results | map(.case) | distinct)[] as $case |
			$results | map(select(.case == $case)) |
			[$case | gsub("_"; " ")] +
			[$columns[] as $column |
			 (map(select([.kernel, .config] == $column)) | first)[$key] | f]]
	};

def adaptive_tables($docs):
	.results + ($docs | program_rows) |
	map(select(.config)) |
	[adaptive_table("Page faults"; "faults"; whole),
	 adaptive_table("Resident, MiB"; "rss_kib"; mebibytes),
	 adaptive_table("Instructions, million"; "value"; million)];

# --- Clearing ---

def bytes: if . >= 1048576 then "\(. / 1048576)M" else "\(. / 1024)K" end;

def choice:
	if . == null then "-"
	elif .method == .near_method then .method
	else "\(.method), \(.near_method) near the fault" end | gsub("_"; " ");

# A row for each extent, a column for each method.
def clear_table($title; $case):
	. as $doc |
	(.results | map(select(.case == $case))) as $results |
	($results | map(.config) | distinct) as $methods |
	($results | map(.extent) | unique) as $extents |
	def of($extent; $method):
		$results | map(select(.extent == $extent and .config == $method)) | first;
	{
		title: $title,
		header: (["extent"] + [$methods[] | gsub("_"; " ")] + ["to 6.12", "chosen"]),
		rows: [$extents[] as $extent |
			[($extent | bytes), (of($extent; $methods[]).value | number),
			 (of($extent; "mcpage").ratio | if . then decimals(2) + "x" else "-" end),
			 ($doc.chosen | map(select(.extent == $extent)) | first | choice)]],
		plot: {
			name: $case,
			header: (["extent"] + $methods),
			rows: [$extents[] as $extent |
				[($extent | bytes), (of($extent; $methods[]).value // "-")]]
		}
	};

def clear_tables:
	[clear_table("Extents are cleared"; "clear"),
	 clear_table("Each extent is cleared, and then each line of it is read";
		"clear_and_read")];

# --- What each is, and its tables ---

def texts: {
	fault: ["Faults", "Instructions for each 4 KiB page of 64 MiB that is used from start to end. 4096 of them clear the page, a byte each."],
	memory: ["Memory that is there", "Instructions for each 4 KiB page of 64 MiB that had been written."],
	lazyfree: ["MADV_FREE", "Instructions for each 4 KiB page: of 1 GiB where one call frees all, else of 64 MiB. Halves, and all but one page, are freed by a call for each block; every second page, or every second 16K, by a call for each of them. \"refault\" is with the writes to all of it that follow. Reclaim is that of memory.reclaim without swapping."],
	fork: ["Fork and copy on write", "64 MiB had been written before."],
	process: ["Processes, heaps and mappings", "Single-threaded loops; 1000 starts of a static program that prints a line."],
	threads: ["Loops with threads", "Wall-clock time on two processors, the kernels in turn; only the ratios carry over to another machine."],
	"latency-fresh": ["Latency of a fault, fresh memory", "Nanoseconds of a guest that executes one instruction in each."],
	"latency-fragmented": ["Latency of a fault, fragmented memory", "Memory is free in single pages only; the same clock."],
	bloat: ["Sparse use", "Most of the memory of each 2 MiB is not used, or used and zeroed again."],
	adaptive: ["The adaptive mode", "64 MiB, written for the first time in different orders, as a whole or in part."],
	clear: ["Clearing", "GB/s, 10^9 bytes, on the machine itself, medians: only the ratios carry over to another one, and mcpage may choose differently there, or here the next time where methods are equally fast. 6.12 is the order of that kernel's folio_zero_user(), by clear_page(). The fault is in the extent's first page; memory is in huge pages."],
	redis: ["redis", "redis-benchmark: SET and GET, one after the other; without the server's start."],
	redis_bgsave: ["redis, saving in the background", "From the fork on, all data is set anew while the child keeps the old."],
	compile: ["gcc -O2", "Files of a real program, with the compiler as Debian builds it."],
	cppcheck: ["cppcheck", "A C++ program: tokens, strings and maps, most of them small."],
	python: ["python3", "Large dictionaries and lists of strings."],
	sqlite: ["sqlite3", "Bulk insert into a database in memory."],
	stress_vm: ["stress-ng, vm", "A fixed number of operations on memory that is written, read and unmapped."],
	stress_malloc: ["stress-ng, malloc", "A fixed number of allocations, used and freed in turn."],
	node: ["node", "A JavaScript engine, as in a browser: many small objects, several threads."]
};

def tables($docs):
	if .bench == "clear" then clear_tables
	elif .icount | not then timed_tables
	elif .bench == "bloat" then bloat_tables
	elif .bench | startswith("latency") then latency_tables
	elif .bench == "lazyfree" then lazyfree_tables
	elif .bench == "adaptive" then adaptive_tables($docs)
	elif any(.results[]; .rss_kib) then macro_tables
	else cost_tables end;

def sections:
	. as $docs |
	map(. as $doc | {
		bench,
		title: texts[.bench][0],
		note: texts[.bench][1],
		commands: ["make bench-\(.bench)", .command],
		where: (if .cpu then "Processor: \(.cpu), family \(.family), model \(.model)"
			else "Kernels: " + ([.kernels[]] | join(", ")) end),
		unit: (if .bench == "clear" then "GB/s"
			elif .icount then "instructions" else "ns" end),
		tables: tables($docs)
	});

# --- Formats ---

def markdown_table:
	"**\(.title)**\n\n| \(.header | join(" | ")) |\n" +
	"|\(.header | map("---") | join("|"))|\n" +
	([.rows[] | "| \(join(" | ")) |\n"] | join(""));

def markdown:
	"# Results\n\n" +
	(map("## \(.title)\n\n\(.note) \(.where).\n\n" +
		(.commands | map("    \(.)\n") | join("")) + "\n" +
		(.tables | map(markdown_table) | join("\n"))) | join("\n"));

def rst_table:
	".. csv-table:: \(.title)\n   :header: \(.header | @csv)\n\n" +
	([.rows[] | "   \(@csv)\n"] | join(""));

def rst_title($char): . + "\n" + ($char * length);

def rst:
	".. SPDX-License-Identifier: GPL-2.0-only\n" +
	".. Made by \"make bench-results\", not by hand.\n\n" +
	("Benchmark results of mcpage" | rst_title("=")) + "\n\n" +
	(map((.title | rst_title("-")) + "\n\n\(.note) \(.where). ::\n\n" +
		(.commands | map("    \(.)\n") | join("")) + "\n" +
		(.tables | map(rst_table) | join("\n"))) | join("\n"));

# Gnuplot's data: a header and columns, but not one that has no figure, as it would
# complain; or for each line a block of time, and how many percent of the faults
# took longer.
def tail_points:
	(map(.[1]) | add) as $all |
	[foreach .[] as [$ns, $count] ($all; . - $count; [$ns, . / $all * 100])] |
	map(select(.[1] > 0));

def plot_data:
	if .kind == "tail" then
		[.lines[] | "\"\(.name)\"\n" + (.histogram | tail_points | map(@tsv) | join("\n"))] |
		join("\n\n\n")
	else
		[.header] + .rows | transpose | map(select(any(.[1:][]; . != "-"))) |
		transpose | map(@tsv) | join("\n")
	end;

def plots:
	.[] | . as $section | .tables[] | select(.plot) |
	{
		file: "\($section.bench)-\(.plot.name)",
		title: "\($section.title): \(.title)",
		unit: $section.unit,
		kind: (.plot.kind // "orders"),
		data: (.plot | plot_data)
	};

sections |
if $format == "markdown" then markdown
elif $format == "rst" then rst
elif $format == "plots" then plots
else error("no such format: \($format)") end
