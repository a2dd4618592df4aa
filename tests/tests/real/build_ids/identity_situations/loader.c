// Runs `tide` of a library: loader plain|executable LIBRARY WORD…; all that is executable where all that
// may be read may be executed, too.
#include <dlfcn.h>
#include <string.h>
#include <sys/personality.h>
int main(int count, char **words) {
    if (!strcmp(words[1], "executable")) personality(READ_IMPLIES_EXEC);
    void *library = dlopen(words[2], RTLD_NOW);
    return ((int (*)(char **))dlsym(library, "tide"))(words + 3);
}
