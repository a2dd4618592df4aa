/*
 * digest ALGORITHM MILLISECONDS
 *
 * Has the kernel hash for so long, so that time is spent in the module of that algorithm, called
 * from algif_hash, called from af_alg.
 */
#include <linux/if_alg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 16];

static long milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char **arguments)
{
	struct sockaddr_alg name = { .salg_family = AF_ALG, .salg_type = "hash" };
	char digest[64];
	if (count != 3)
		return 2;
	strncpy((char *)name.salg_name, arguments[1], sizeof name.salg_name - 1);
	int listening = socket(AF_ALG, SOCK_SEQPACKET, 0);
	if (bind(listening, (void *)&name, sizeof name)) {
		perror(arguments[1]);
		return 1;
	}
	int hash = accept(listening, NULL, NULL);
	long end = milliseconds() + atol(arguments[2]);
	while (milliseconds() < end)
		if (send(hash, block, sizeof block, 0) < 0 || read(hash, digest, sizeof digest) < 0) {
			perror(arguments[1]);
			return 1;
		}
	return 0;
}
