# SPDX-License-Identifier: BSD-3-Clause
#
# Reads kernels.c, preprocessed but with KERNEL and SHARED unexpanded; writes fake_kernels[] and a call function per kernel.

# The type of a parameter, without its name.
function type_of(parameter) {
	sub(/[A-Za-z0-9_]+[ \t]*$/, "", parameter)
	gsub(/^[ \t]+|[ \t]+$/, "", parameter)
	return parameter
}

function begin_kernel(head,    name, parameters, i, n) {
	name = head
	sub(/\(.*/, "", name)
	gsub(/KERNEL|[ \t]/, "", name)
	sub(/^[^(]*\(/, "", head)
	sub(/\).*/, "", head)
	kernel = name
	names[++kernels] = name
	n = head ~ /^[ \t]*void[ \t]*$/ ? 0 : split(head, parameters, ",")
	counts[name] = n
	for (i = 1; i <= n; i++)
		types[name, i] = type_of(parameters[i])
}

function write_call(name,    i, list) {
	for (i = 1; i <= counts[name]; i++)
		list = list (i > 1 ? ", " : "") "*(" types[name, i] " *)a[" (i - 1) "]"
	printf "static void call_%s(void *const *a) { %s%s(%s); }\n", name, counts[name] ? "" : "(void)a; ", name, list
}

function write_row(name,    i, list, addresses) {
	for (i = 1; i <= counts[name]; i++) {
		list = list "sizeof(" types[name, i] "), "
		addresses += types[name, i] ~ /\*$/ ? 2 ^ (i - 1) : 0
	}
	printf "\t{\"%s\", call_%s, %s, %d, {%s}, %d},\n", name, name,
		shared[name] ? "sizeof(struct {" shared[name] "})" : "0", counts[name], list ? list : "0", addresses
}

# With -g3 the preprocessor keeps macro definitions.
/^#/ { next }
# A kernel's head and a declaration may span lines.
{ text = text " " $0 }
END {
	while (match(text, /(KERNEL|SHARED)[ \t]/)) {
		word = substr(text, RSTART, 6)
		text = substr(text, RSTART)
		end = index(text, word == "KERNEL" ? "{" : ";")
		if (word == "KERNEL")
			begin_kernel(substr(text, 1, end - 1))
		else
			shared[kernel] = shared[kernel] substr(text, 7, end - 6)
		text = substr(text, end + 1)
	}
	for (k = 1; k <= kernels; k++)
		write_call(names[k])
	print "const struct fake_kernel fake_kernels[] = {"
	for (k = 1; k <= kernels; k++)
		write_row(names[k])
	print "\t{NULL, NULL, 0, 0, {0}, 0},\n};"
}
