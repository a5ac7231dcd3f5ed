/*
 * Its constructor waits for a thread whose first call of two functions of the C library it is: the loader's lock, which
 * the constructor's thread has, must not be needed for that.
 */
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static void *call(void *unused)
{
	(void)unused;
	recvmmsg(-1, NULL, 0, 0, NULL);
	shutdown(-1, SHUT_RD);
	return NULL;
}

__attribute__((constructor)) static void load(void)
{
	pthread_t thread;

	alarm(60);
	if (!pthread_create(&thread, NULL, call, NULL))
		pthread_join(thread, NULL);
	alarm(0);
}
