/* SPDX-License-Identifier: MIT */
/*
 * The same as bare.c over TLS: what OpenSSL, a handshake with a verified
 * certificate and two requests cost, and nothing else.
 *
 *   bare-tls PORT CA-FILE KEY COMMAND [ARG]...
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static SSL *to_port(int port, const char *ca)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;

	in.sin_port = htons((unsigned short)port);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!ctx || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ||
	    SSL_CTX_load_verify_locations(ctx, ca, NULL) != 1)
		return NULL;
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(ctx);
	if (!ssl ||
	    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), "127.0.0.1") !=
		    1 ||
	    SSL_set_fd(ssl, fd) != 1 || SSL_connect(ssl) != 1)
		return NULL;
	return ssl;
}

static char ask(SSL *ssl, const char *question)
{
	char reply[256];

	if (SSL_write(ssl, question, (int)strlen(question)) <= 0 ||
	    SSL_read(ssl, reply, sizeof(reply)) <= 0)
		return '-';
	return reply[0];
}

int main(int argc, char **argv)
{
	char question[512];
	int status = 0;
	pid_t pid;
	SSL *ssl;

	if (argc < 5)
		return 64;
	ssl = to_port(atoi(argv[1]), argv[2]);
	(void)snprintf(question, sizeof(question),
		       "SET %s token%d NX PX 30000\r\n", argv[3],
		       (int)getpid());
	if (!ssl || ask(ssl, question) != '+')
		return 69;
	pid = fork();
	if (pid == 0) {
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	(void)waitpid(pid, &status, 0);
	(void)snprintf(question, sizeof(question),
		       "EVAL \"if redis.call('get',KEYS[1])==ARGV[1] then "
		       "return redis.call('del',KEYS[1]) end\" 1 %s "
		       "token%d\r\n",
		       argv[3], (int)getpid());
	if (ask(ssl, question) != ':')
		return 70;
	return WEXITSTATUS(status);
}
