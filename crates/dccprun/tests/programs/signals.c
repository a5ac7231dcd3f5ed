/*
 * Uses the signals of jobs: signals PART
 *
 * Exits with 0 if they arrive as without dccprun.
 */
#include "common.h"

static volatile sig_atomic_t arrived;

static void count(int signal)
{
	(void)signal;
	arrived++;
}

/* A signal to its own group reaches the program once. */
static void test_group(void)
{
	signal(SIGTERM, count);
	for (int n = 1; n <= 10; n++) {
		CHECK(!kill(0, SIGTERM));
		/* A second one would come while the program sleeps, and end the sleep. */
		CHECK(!usleep(50000) && arrived == n);
	}
}

/* Leaves the group of the terminal's job, in which Ctrl-C still has to reach it. */
static void test_leave(void)
{
	CHECK(!setpgid(0, 0));
	alarm(60);
	puts("ready");
	fflush(stdout);
	pause();
}

/* Goes on when the terminal wants its job to stop. */
static void test_stubborn(void)
{
	signal(SIGTSTP, count);
	puts("ready");
	fflush(stdout);
	while (!arrived)
		usleep(1000);
	puts("arrived");
	fflush(stdout);
	alarm(60);
	pause();
}

static void stop(int signal)
{
	(void)signal;
	raise(SIGSTOP);
}

/* Stops in its own way when the terminal wants its job to stop. */
static void test_suspend(void)
{
	signal(SIGTSTP, stop);
	alarm(60);
	puts("ready");
	fflush(stdout);
	CHECK(pause() == -1 && errno == EINTR);
	puts("continued");
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "group", test_group }, { "leave", test_leave }, { "stubborn", test_stubborn },
	{ "suspend", test_suspend },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++)
		if (!strcmp(parts[n].name, argv[1])) {
			parts[n].run();
			return 0;
		}
	fprintf(stderr, "%s: no such part\n", argv[1]);
	return 2;
}
