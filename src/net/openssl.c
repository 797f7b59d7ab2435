/* SPDX-License-Identifier: MIT */
/*
 * Loads the library whose headers this was built with; or has it linked in, in
 * a static build, which cannot load anything.
 */
#include "config.h"
#include "net/openssl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct openssl ssl;

#ifdef OPENSSL_LINKED
int openssl_load(struct fail *why)
{
	(void)why;
	if (ssl.loaded)
		return 0;
#define SET(name) .name = (name),
	ssl = (struct openssl){OPENSSL_FUNCTIONS(SET).loaded = &ssl};
	(void)ssl.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
	return 0;
}
#else
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#ifdef OPENSSL_SHLIB_VERSION
#define LIBRARY "libssl.so." STRING(OPENSSL_SHLIB_VERSION)
#else
#define LIBRARY "libssl.so." SHLIB_VERSION_NUMBER
#endif

int openssl_load(struct fail *why)
{
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = {
#define ENTRY(name) {#name, offsetof(struct openssl, name)},
		OPENSSL_FUNCTIONS(ENTRY)};
	void *library;

	if (ssl.loaded)
		return 0;
	library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return fail(why, FAIL_CONFIG,
			    "TLS: cannot load OpenSSL: %s (Debian: apt-get "
			    "install libssl3)",
			    dlerror());
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = dlsym(library, wanted[i].name);

		if (!found)
			return fail(why, FAIL_CONFIG, "TLS: %s has no %s",
				    LIBRARY, wanted[i].name);
		memcpy((char *)&ssl + wanted[i].at, &found, sizeof(found));
	}
	/* the kernel frees the rest */
	(void)ssl.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
	ssl.loaded = library;
	return 0;
}
#endif
