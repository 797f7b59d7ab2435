# Lua into C: NAME.lua becomes the string literal LUA_NAME. Blank lines, lines
# that are all comment and indents stay behind: they are free in the source and
# would cost bytes on the wire.
FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.lua$/, "", name)
	printf("%s#define LUA_%s", (NR > 1 ? "\n\n" : ""), toupper(name))
}
/^[ \t]*(--.*)?$/ { next }
{
	sub(/^[ \t]+/, "")
	gsub(/\\/, "&&")
	gsub(/"/, "\\\"")
	printf " \\\n\t\"%s\\n\"", $0
}
END { print "" }
