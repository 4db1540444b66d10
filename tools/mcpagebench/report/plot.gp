# SPDX-License-Identifier: GPL-2.0-only
#
# One plot as SVG: gnuplot -e 'data="..."; out="..."; about="..."; unit="..."; kind="..."'
#
#   orders	a header, the sizes in the first column, a line for each other one
#   tail		a block of time and percentage for each line, headed by its name

set terminal svg size 860,520 dynamic background rgb "white" font "sans,13"
set output out
set title about noenhanced
set key outside right noenhanced autotitle columnheader
set grid
set datafile missing "-"
set format "%g"

if (kind eq "tail") {
	set logscale xy 10
	set key below
	set xlabel unit noenhanced
	set ylabel "faults that took longer, %"
	stats data nooutput
	plot for [i = 0:STATS_blocks - 1] data index i using 1:2 with steps \
		linewidth 2
} else {
	set datafile separator tab
	if (unit eq "GB/s") {
		set yrange [0:*]
	} else {
		set logscale y 10
	}
	set xtics rotate by -45
	set xlabel system("head -n 1 '".data."' | cut -f 1")
	set ylabel unit noenhanced
	columns = int(system("head -n 1 '".data."' | tr '\\t' '\\n' | wc -l"))
	plot for [i = 2:columns] data using i:xtic(1) with linespoints \
		linewidth 2
}
