/* SPDX-License-Identifier: MIT */
/* Colors, letters and words for how a hold ended. */
#include "cli/history/kinds.h"

#include <string.h>

const struct kind_look kinds[KINDS] = {
	[RAN] = {"ran", "ran", "", false, false},
	[FAILED] = {"failed", "failed", "F", true, false},
	[LOST] = {"lost", "lost", "L", true, true},
	[EXPIRED] = {"expired", "expired", "!", true, true},
	[MAX_HOLD] = {"max-hold", "max", "M", true, false},
	[FORCED] = {"forced", "forced", "X", true, true},
	[RELEASED] = {"released", "hand", "R", false, false},
	[ENDED] = {"ended", "hand", "E", false, false},
	[HELD] = {"held", "held", "", false, false},
	[OTHER] = {"unknown", "other", "?", true, false},
};

enum kind kind_of(const struct history_hold *p)
{
	for (int k = 0; k < OTHER; k++)
		if (strcmp(p->outcome, kinds[k].outcome) == 0)
			return (enum kind)k;
	return OTHER;
}

/* Lost, expired and forced are the loudest: they contrast most with the ground,
 * and have an edge. */
const char kinds_style[] =
	"<style>\n"
	"text { font: 12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; "
	"fill: #1c2128 }\n"
	".key { font-size: 17px; font-weight: 600 }\n"
	".dim { fill: #57606a }\n"
	".loud { font-weight: 700 }\n"
	".time { font-size: 11px }\n"
	".mark { font-size: 10px; font-weight: 700; text-anchor: middle }\n"
	".in { font-size: 10.5px; fill: #10151b }\n"
	".in.loud { fill: #fff }\n"
	".ground { fill: #fff }\n"
	".band { fill: #f3f5f8 }\n"
	".grid { stroke: #ccd3db; stroke-width: 1 }\n"
	".wait { stroke: #6b7680; stroke-width: 1.5; stroke-dasharray: 3 2 }\n"
	".ran { fill: #6694b8 }\n"
	".failed { fill: #bd7a26 }\n"
	".max { fill: #9480c4 }\n"
	".hand { fill: #87919c }\n"
	".held { fill: #3f9a70 }\n"
	".other { fill: #87919c }\n"
	".lost { fill: #c4002f; stroke: #5c0016; stroke-width: 1.5 }\n"
	".expired { fill: #b0451a; stroke: #5c1f00; stroke-width: 1.5 }\n"
	".forced { fill: #a3008f; stroke: #4b0042; stroke-width: 1.5 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e4e9ee }\n"
	".dim { fill: #a3adb8 }\n"
	".in { fill: #fff }\n"
	".in.loud { fill: #10151b }\n"
	".ground { fill: #10151b }\n"
	".band { fill: #1a2129 }\n"
	".grid { stroke: #39434e }\n"
	".wait { stroke: #98a3ae }\n"
	".ran { fill: #4d7899 }\n"
	".failed { fill: #9c6a28 }\n"
	".max { fill: #7868ab }\n"
	".hand { fill: #68727c }\n"
	".held { fill: #3a8062 }\n"
	".other { fill: #68727c }\n"
	".lost { fill: #ff7088; stroke: #fff }\n"
	".expired { fill: #ff9a70; stroke: #fff }\n"
	".forced { fill: #ff86e8; stroke: #fff }\n"
	"}\n"
	"</style>\n";
