# SPDX-License-Identifier: MIT
# The files of a release, and their tests. HACKING.md says what each target is for.

static:
	cd $(srcdir) && scripts/static.sh
	cp $(srcdir)/redlock-static-$$(uname -m) $(srcdir)/redlock-static
STATIC = tests/static.bats tests/run.bats tests/tls.bats \
	tests/local.bats tests/signals.bats tests/usage.bats tests/password.bats
check-static: static
	$(MAKE) $(AM_MAKEFLAGS) check \
		REDLOCK='$(abs_srcdir)/build-static/'`uname -m`/redlock/redlock \
		TESTS='$(STATIC)'
check-image: static
	$(srcdir)/scripts/check-image.sh redlock-static
# Few tests, because qemu fails others: it has threads of its own, takes half a
# second to start, and shows a process a /proc/self/stat that others do not see.
check-aarch64:
	cd $(srcdir) && scripts/static.sh aarch64
	cd $(srcdir)/build-static/aarch64/redlock && \
		$(MAKE) $(AM_MAKEFLAGS) check-unit LOG_COMPILER=qemu-aarch64-static \
			UNITS='$(filter-out tests/unit/t-process,$(UNITS))'
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/run.bats AM_BATS_LOG_FLAGS='--tap -f held' \
		REDLOCK='$(abs_srcdir)/tests/lib/aarch64.sh'
# The same commit makes the same bytes.
tarball:
	$(MAKE) $(AM_MAKEFLAGS) dist GZIP_ENV=-9n TAR_OPTIONS="--sort=name --owner=0 \
		--group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
		--mtime=@`git -C '$(srcdir)' log -1 --format=%ct`"
# From the tarball, so that nothing else that lies here gets into the package. (Debian
# 12's lintian does not know the field Static-Built-Using.)
deb: tarball
	rm -rf build-deb && $(MKDIR_P) build-deb
	cp $(distdir).tar.gz build-deb/$(PACKAGE)_$(VERSION).orig.tar.gz
	cd build-deb && tar -xf $(PACKAGE)_$(VERSION).orig.tar.gz
	cp -r $(srcdir)/debian build-deb/$(distdir)
	cd build-deb/$(distdir) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS \
		dpkg-buildpackage -us -uc
	cd build-deb && lintian --fail-on error,warning --suppress-tags \
		unknown-field $(PACKAGE)_$(VERSION)-*.changes
	cp build-deb/$(PACKAGE)_$(VERSION)-*.deb .
check-deb: deb
	$(srcdir)/scripts/check-deb.sh build-deb
# The other systems' packages, as far as they can be built here.
check-packages: tarball
	$(srcdir)/scripts/check-packages.sh $(distdir).tar.gz build-packages
release: all
	cd $(srcdir) && MAKE='$(MAKE)' scripts/release.sh $(VERSION)
# What it made, installed from these files alone in fresh systems, as root.
check-release:
	cd $(srcdir) && scripts/check-release.sh release

.PHONY: check-aarch64 check-deb check-image check-packages check-release check-static deb \
	release static tarball
