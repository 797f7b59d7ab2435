/* SPDX-License-Identifier: MIT */
/* TLS by OpenSSL. */
#include "net/tls.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"
#include "config.h"
#include "net/openssl.h"

#ifndef SSL_R_UNEXPECTED_EOF_WHILE_READING /* OpenSSL 1.1.1 */
#define SSL_R_UNEXPECTED_EOF_WHILE_READING 294
#endif

#ifdef OPENSSL_LINKED
#define OPENSSL_IS "linked in"
#else
#define OPENSSL_IS "loaded when needed"
#endif

/* The state of a conf's files when they were read. */
#define FILES 4
struct authority {
	struct authority *next;
	struct tls_conf conf;
	struct stat read[FILES];
	SSL_CTX *ctx;
};
static struct authority *trusted;
static BIO_METHOD *our_socket; /* how its bytes travel */

struct tls {
	SSL *ssl;
	int fd;
	int error; /* the errno of a failed socket */
	bool send_waits_in, recv_waits_out;
	char name[256];
	struct fail why; /* the error of TLS */
};

/* ---- bytes, through send(2) and recv(2) ---- */

static int later_or_broken(BIO *b, struct tls *t, ssize_t n, int flag)
{
	ssl.BIO_clear_flags(b, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (n >= 0)
		return (int)n;
	/* (a server that closes may have said why: read that first) */
	if (errno == EAGAIN || errno == EINTR || errno == ENOTCONN ||
	    (flag == BIO_FLAGS_WRITE &&
	     (errno == EPIPE || errno == ECONNRESET)))
		ssl.BIO_set_flags(b, flag | BIO_FLAGS_SHOULD_RETRY);
	else
		t->error = errno;
	return -1;
}

static int bytes_out(BIO *b, const char *bytes, int n)
{
	struct tls *t = ssl.BIO_get_data(b);

	return later_or_broken(b, t,
			       send(t->fd, bytes, (size_t)n, MSG_NOSIGNAL),
			       BIO_FLAGS_WRITE);
}

static int bytes_in(BIO *b, char *bytes, int n)
{
	struct tls *t = ssl.BIO_get_data(b);

	return later_or_broken(b, t, recv(t->fd, bytes, (size_t)n, 0),
			       BIO_FLAGS_READ);
}

static long control(BIO *b, int command, long number, void *pointer)
{
	(void)b;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static int load(struct fail *why)
{
	if (our_socket)
		return 0;
	if (openssl_load(why) < 0)
		return -1;
	our_socket = ssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "redlock");
	if (!our_socket)
		return fail_memory(why);
	ssl.BIO_meth_set_write(our_socket, bytes_out);
	ssl.BIO_meth_set_read(our_socket, bytes_in);
	ssl.BIO_meth_set_ctrl(our_socket, control);
	return 0;
}

void tls_version(char *buf, size_t size)
{
	struct fail why;

	if (openssl_load(&why) < 0)
		(void)snprintf(buf, size, "no: %s", why.text);
	else
		(void)snprintf(buf, size, "%s, " OPENSSL_IS,
			       ssl.OpenSSL_version(OPENSSL_VERSION));
}

/* ---- whom we trust ---- */

static int bad_file(struct fail *why, const char *option, const char *path)
{
	unsigned long e = ssl.ERR_peek_last_error();
	const char *text = ssl.ERR_reason_error_string(e);

	if (ERR_GET_LIB(e) == ERR_LIB_SYS)
		text = strerror(ERR_GET_REASON(e));
	else if (errno != 0)
		text = strerror(errno);
	return fail(why, FAIL_CONFIG, "%s '%s': %s", option, path,
		    text ? text : "not usable");
}

/* One file "HASH.N" is enough: somebody keeps it. */
static bool is_hashed(const char *directory)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		found = strspn(e->d_name, "0123456789abcdef") == 8 &&
			e->d_name[8] == '.' &&
			isdigit((unsigned char)e->d_name[9]);
	if (d)
		closedir(d);
	return found;
}

/* What the system trusts, all in one file. An OpenSSL that is linked in does
 * not know this system; the distributions have it in different places. */
static const char *system_file(void)
{
#ifdef OPENSSL_LINKED
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/ca-bundle.pem", /* SUSE */
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
#endif
	return ssl.X509_get_default_cert_file();
}

static int load_authorities(SSL_CTX *ctx, const struct tls_conf *conf,
			    struct fail *why)
{
	const char *file = conf->cacert[0] ? conf->cacert : NULL;
	const char *directory = conf->cacertdir[0] ? conf->cacertdir : NULL;
	struct stat st;

	if (conf->verify == TLS_NONE)
		return 0;
	/* (SSL_CERT_DIR may be a list, or empty beside SSL_CERT_FILE) */
	if (directory && !file && !strchr(directory, ':') &&
	    !is_hashed(directory))
		return fail(why, FAIL_CONFIG,
			    "--cacertdir '%s': contains no certificates with "
			    "hashed names (see openssl-rehash(1))",
			    directory);
	if (file &&
	    trust_file(TRUST_PUBLIC, -1, "--cacert ", file, &st, why) < 0)
		return -1;
	if (directory && !strchr(directory, ':') &&
	    trust_file(TRUST_PUBLIC, -1, "--cacertdir ", directory, &st, why) <
		    0)
		return -1;
	errno = 0;
	if (file && !ssl.SSL_CTX_load_verify_locations(ctx, file, NULL))
		return bad_file(why, "--cacert", file);
	if (!file && !directory) {
		directory = ssl.X509_get_default_cert_dir();
		/* without either, every certificate will be refused */
		if (!is_hashed(directory)) {
			(void)ssl.SSL_CTX_load_verify_locations(
				ctx, system_file(), NULL);
			directory = NULL;
		}
	}
	if (directory &&
	    !ssl.SSL_CTX_load_verify_locations(ctx, NULL, directory))
		return bad_file(why, "--cacertdir", directory);
	return 0;
}

/* Nobody can type a pass phrase; OpenSSL would ask the terminal. */
static bool phrase_wanted;

static int no_phrase(char *buf, int size, int writes, void *arg)
{
	phrase_wanted = true;
	(void)buf;
	(void)size;
	(void)writes;
	(void)arg;
	return -1;
}

static int load_ours(SSL_CTX *ctx, const struct tls_conf *conf,
		     struct fail *why)
{
	unsigned long e;
	struct stat st;

	if (conf->cert[0] == '\0')
		return 0;
	if (trust_file(TRUST_PUBLIC, -1, "--cert ", conf->cert, &st, why) < 0 ||
	    trust_file(TRUST_SECRET, -1, "--key-file ", conf->key, &st, why) <
		    0)
		return -1;
	errno = 0;
	if (ssl.SSL_CTX_use_certificate_chain_file(ctx, conf->cert) != 1)
		return bad_file(why, "--cert", conf->cert);
	errno = 0;
	phrase_wanted = false;
	ssl.ERR_clear_error();
	if (ssl.SSL_CTX_use_PrivateKey_file(ctx, conf->key, SSL_FILETYPE_PEM) ==
		    1 &&
	    ssl.SSL_CTX_check_private_key(ctx) == 1)
		return 0;
	if (phrase_wanted)
		return fail(why, FAIL_CONFIG,
			    "--key-file '%.150s' is encrypted, and nobody can "
			    "type its pass phrase: write it without one "
			    "(openssl pkey -in FILE -out NEW)",
			    conf->key);
	e = ssl.ERR_peek_last_error();
	/* (the last: a key of another type) */
	if ((ERR_GET_LIB(e) == ERR_LIB_X509 &&
	     (ERR_GET_REASON(e) == X509_R_KEY_VALUES_MISMATCH ||
	      ERR_GET_REASON(e) == X509_R_KEY_TYPE_MISMATCH)) ||
	    (ERR_GET_LIB(e) == ERR_LIB_SSL &&
	     ERR_GET_REASON(e) == SSL_R_NO_CERTIFICATE_ASSIGNED))
		return fail(why, FAIL_CONFIG,
			    "--key-file '%.150s' does not belong to --cert "
			    "'%.150s'",
			    conf->key, conf->cert);
	return bad_file(why, "--key-file", conf->key);
}

static SSL_CTX *context(const struct tls_conf *conf, struct fail *why)
{
	SSL_CTX *ctx;

	ssl.ERR_clear_error();
	ctx = ssl.SSL_CTX_new(ssl.TLS_client_method());
	if (!ctx) {
		(void)fail(why, FAIL_INTERNAL, "TLS: out of memory");
		return NULL;
	}
	(void)ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION,
			       TLS1_2_VERSION, NULL);
	(void)ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_MODE,
			       SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				       SSL_MODE_RELEASE_BUFFERS,
			       NULL);
	ssl.SSL_CTX_set_default_passwd_cb(ctx, no_phrase);
	ssl.SSL_CTX_set_verify(ctx,
			       conf->verify == TLS_NONE ? SSL_VERIFY_NONE
							: SSL_VERIFY_PEER,
			       NULL);
	if (load_authorities(ctx, conf, why) == 0 &&
	    load_ours(ctx, conf, why) == 0)
		return ctx;
	ssl.SSL_CTX_free(ctx);
	return NULL;
}

static void stat_files(const struct tls_conf *conf, struct stat files[FILES])
{
	const char *const paths[FILES] = {conf->cacert, conf->cacertdir,
					  conf->cert, conf->key};

	memset(files, 0, FILES * sizeof(files[0]));
	for (int i = 0; i < FILES; i++)
		if (paths[i][0] != '\0')
			(void)stat(paths[i], &files[i]);
}

static bool same_files(const struct stat a[FILES], const struct stat b[FILES])
{
	for (int i = 0; i < FILES; i++)
		if (a[i].st_ino != b[i].st_ino ||
		    a[i].st_mtim.tv_sec != b[i].st_mtim.tv_sec ||
		    a[i].st_mtim.tv_nsec != b[i].st_mtim.tv_nsec)
			return false;
	return true;
}

/* Reads certificates again when they were renewed during a hold; if that fails,
 * keeps the old ones. */
static SSL_CTX *context_of(const struct tls_conf *conf, struct fail *why)
{
	struct tls_conf wanted = *conf;
	struct stat files[FILES];
	struct authority *t = trusted;
	SSL_CTX *fresh;

	memset(wanted.sni, 0, sizeof(wanted.sni));
	while (t && memcmp(&t->conf, &wanted, sizeof(wanted)) != 0)
		t = t->next;
	stat_files(conf, files);
	if (t && same_files(t->read, files))
		return t->ctx;
	fresh = context(conf, why);
	if (!fresh)
		return t ? t->ctx : NULL;
	if (t) {
		ssl.SSL_CTX_free(t->ctx);
	} else {
		t = calloc(1, sizeof(*t));
		if (!t) {
			(void)fail_memory(why);
			ssl.SSL_CTX_free(fresh);
			return NULL;
		}
		t->next = trusted;
		trusted = t;
	}
	memcpy(&t->conf, &wanted, sizeof(wanted));
	memcpy(t->read, files, sizeof(files));
	t->ctx = fresh;
	return fresh;
}

/* ---- a conversation ---- */

static bool expect_name(const struct tls *t, enum tls_verify verify)
{
	X509_VERIFY_PARAM *param = ssl.SSL_get0_param(t->ssl);
	struct in6_addr any;
	bool is_address = inet_pton(AF_INET, t->name, &any) == 1 ||
			  inet_pton(AF_INET6, t->name, &any) == 1;

	if (!is_address &&
	    !ssl.SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
			  TLSEXT_NAMETYPE_host_name, (void *)t->name))
		return false;
	if (verify != TLS_FULL)
		return true;
	if (is_address)
		return ssl.X509_VERIFY_PARAM_set1_ip_asc(param, t->name);
	ssl.X509_VERIFY_PARAM_set_hostflags(
		param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return ssl.X509_VERIFY_PARAM_set1_host(param, t->name, 0);
}

struct tls *tls_open(const struct tls_conf *conf, const char *name, int fd,
		     struct fail *why)
{
	struct tls *t;
	SSL_CTX *ctx;
	BIO *bio;

	if (load(why) < 0)
		return NULL;
	ctx = context_of(conf, why);
	if (!ctx)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t)
		t->ssl = ssl.SSL_new(ctx);
	bio = t && t->ssl ? ssl.BIO_new(our_socket) : NULL;
	if (!bio) {
		(void)fail(why, FAIL_INTERNAL, "TLS: out of memory");
		tls_close(t);
		return NULL;
	}
	t->fd = fd;
	(void)snprintf(t->name, sizeof(t->name), "%s",
		       conf->sni[0] ? conf->sni : name);
	ssl.BIO_set_data(bio, t);
	ssl.BIO_set_init(bio, 1);
	ssl.SSL_set_bio(t->ssl, bio, bio);
	ssl.SSL_set_connect_state(t->ssl);
	if (!expect_name(t, conf->verify)) {
		(void)fail(why, FAIL_CONFIG, "TLS: not a host name: '%s'",
			   t->name);
		tls_close(t);
		return NULL;
	}
	return t;
}

void tls_close(struct tls *t)
{
	if (t && t->ssl)
		ssl.SSL_free(t->ssl);
	free(t);
}

/* Whoever signed it is not known; the name may well be right. */
static bool is_untrusted(long verdict)
{
	return verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
	       verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
	       verdict == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
	       verdict == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
	       verdict == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT;
}

static const char *advice_on(long verdict)
{
	switch (verdict) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "; --sni names the one to expect";
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "; renew the server's certificate, or set this "
		       "machine's clock";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "; check this machine's clock";
	default:
		return "";
	}
}

/* The alerts with which a server rejects a client's certificate. */
static bool is_about_ours(int reason)
{
	switch (reason) {
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
		return true;
	default: /* OpenSSL's, not ours to list */
		return false;
	}
}

/* What is wrong with the other side, or its certificate. */
static void blame(struct tls *t)
{
	long verdict = ssl.SSL_get_verify_result(t->ssl);
	unsigned long e = ssl.ERR_peek_last_error();
	const char *text = ssl.ERR_reason_error_string(e);
	int reason = ERR_GET_REASON(e);

	if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && is_untrusted(verdict))
		(void)fail(
			&t->why, FAIL_REFUSED,
			"the certificate of '%s' is from no trusted CA (%s): "
			"give that CA with --cacert",
			t->name, ssl.X509_verify_cert_error_string(verdict));
	else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		(void)fail(&t->why, FAIL_REFUSED,
			   "the certificate is not valid for '%s': %s%s",
			   t->name, ssl.X509_verify_cert_error_string(verdict),
			   advice_on(verdict));
	else if (reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
		 (reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE))
		(void)fail(
			&t->why, FAIL_REFUSED,
			"the server refused the TLS handshake; it may want a "
			"client certificate (--cert, --key-file)");
	else if (reason == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION ||
		 reason == SSL_R_UNSUPPORTED_PROTOCOL)
		(void)fail(&t->why, FAIL_REFUSED,
			   "no TLS version in common with the server; redlock "
			   "speaks 1.2 and 1.3");
	else if (reason > SSL_AD_REASON_OFFSET)
		(void)fail(&t->why, FAIL_REFUSED,
			   "the server refused the TLS handshake%s: %s",
			   is_about_ours(reason)
				   ? " because of our certificate (--cert)"
				   : "",
			   text ? text : "no reason given");
	else if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		(void)fail(&t->why, FAIL_UNAVAILABLE,
			   "the server closed the connection");
	else
		(void)fail(&t->why, FAIL_UNAVAILABLE,
			   "the server does not speak TLS (%s); if the port is "
			   "right, write redis://, not rediss://",
			   text ? text : "no reason given");
}

/* -1 with errno, for what SSL_read() or SSL_write() returned. */
static ssize_t result(struct tls *t, int n, bool *waits, int natural)
{
	int error;

	*waits = false;
	if (n > 0)
		return n;
	error = ssl.SSL_get_error(t->ssl, n);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		*waits = error != natural;
		errno = EAGAIN;
		return -1;
	}
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (error == SSL_ERROR_SSL) {
		blame(t);
		t->error = EPROTO;
	}
	/* end of the socket, which OpenSSL 1.1.1 does not call an error */
	if (t->error == 0)
		return 0;
	errno = t->error;
	return -1;
}

ssize_t tls_send(struct tls *t, const char *bytes, size_t n)
{
	ssize_t sent;

	ssl.ERR_clear_error();
	t->error = 0;
	sent = result(t, ssl.SSL_write(t->ssl, bytes, (int)n),
		      &t->send_waits_in, SSL_ERROR_WANT_WRITE);
	if (sent != 0)
		return sent;
	errno = EPIPE;
	return -1;
}

ssize_t tls_recv(struct tls *t, char *bytes, size_t n)
{
	ssl.ERR_clear_error();
	t->error = 0;
	return result(t, ssl.SSL_read(t->ssl, bytes, (int)n),
		      &t->recv_waits_out, SSL_ERROR_WANT_READ);
}

short tls_events(const struct tls *t, bool sends)
{
	bool out = (sends && !t->send_waits_in) || t->recv_waits_out;

	return out ? POLLIN | POLLOUT : POLLIN;
}

bool tls_shaking(const struct tls *t)
{
	return ssl.SSL_in_init(t->ssl);
}

bool tls_expiry(const struct tls *t, int64_t *left_s)
{
	/* (as a macro, sk_X509_value() would be a function of the library) */
	const void *chain = ssl.SSL_get_peer_cert_chain(t->ssl);
	const X509 *first =
		chain ? ssl.OPENSSL_sk_value((const OPENSSL_STACK *)chain, 0)
		      : NULL;
	int days, s;

	if (!first ||
	    !ssl.ASN1_TIME_diff(&days, &s, NULL, ssl.X509_get0_notAfter(first)))
		return false;
	*left_s = (int64_t)days * 86400 + s;
	return true;
}

bool tls_refused(const struct tls *t, struct fail *why)
{
	if (t->why.kind == FAIL_NONE)
		return false;
	*why = t->why;
	return true;
}
