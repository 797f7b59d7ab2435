/* SPDX-License-Identifier: MIT */
/*
 * The functions of OpenSSL that we call, as pointers. OpenSSL is not linked but
 * loaded by openssl_load(), and called as ssl.SSL_new(...). For tls.c only.
 */
#ifndef NET_OPENSSL_H
#define NET_OPENSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/fail.h"

/* Only functions; where OpenSSL has macros, we call SSL_ctrl(). */
#define OPENSSL_FUNCTIONS(F)                                                   \
	F(ASN1_TIME_diff)                                                      \
	F(BIO_clear_flags)                                                     \
	F(BIO_get_data)                                                        \
	F(BIO_meth_new)                                                        \
	F(BIO_meth_set_ctrl)                                                   \
	F(BIO_meth_set_read)                                                   \
	F(BIO_meth_set_write)                                                  \
	F(BIO_new)                                                             \
	F(BIO_set_data)                                                        \
	F(BIO_set_flags)                                                       \
	F(BIO_set_init)                                                        \
	F(ERR_clear_error)                                                     \
	F(ERR_peek_last_error)                                                 \
	F(ERR_reason_error_string)                                             \
	F(OPENSSL_init_ssl)                                                    \
	F(OPENSSL_sk_value)                                                    \
	F(OpenSSL_version)                                                     \
	F(SSL_CTX_check_private_key)                                           \
	F(SSL_CTX_ctrl)                                                        \
	F(SSL_CTX_free)                                                        \
	F(SSL_CTX_load_verify_locations)                                       \
	F(SSL_CTX_new)                                                         \
	F(SSL_CTX_set_default_passwd_cb)                                       \
	F(SSL_CTX_set_verify)                                                  \
	F(SSL_CTX_use_PrivateKey_file)                                         \
	F(SSL_CTX_use_certificate_chain_file)                                  \
	F(SSL_ctrl)                                                            \
	F(SSL_free)                                                            \
	F(SSL_get0_param)                                                      \
	F(SSL_get_error)                                                       \
	F(SSL_get_peer_cert_chain)                                             \
	F(SSL_get_verify_result)                                               \
	F(SSL_in_init)                                                         \
	F(SSL_new)                                                             \
	F(SSL_read)                                                            \
	F(SSL_set_bio)                                                         \
	F(SSL_set_connect_state)                                               \
	F(SSL_write)                                                           \
	F(TLS_client_method)                                                   \
	F(X509_VERIFY_PARAM_set1_host)                                         \
	F(X509_VERIFY_PARAM_set1_ip_asc)                                       \
	F(X509_VERIFY_PARAM_set_hostflags)                                     \
	F(X509_get0_notAfter)                                                  \
	F(X509_get_default_cert_dir)                                           \
	F(X509_get_default_cert_file)                                          \
	F(X509_verify_cert_error_string)

/* Each pointer has the type of the function in OpenSSL's header. */
extern struct openssl {
	void *loaded;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): it declares the name */
#define POINTER_(name) __typeof__(&(name)) name;
	OPENSSL_FUNCTIONS(POINTER_)
} ssl;

/* Loads it, once; later calls return at once. */
int openssl_load(struct fail *why);

#endif
