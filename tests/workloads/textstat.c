/*
 * A workload with something to see at every depth of a flame graph: functions that inline others
 * (hash_step into hash_word into count_word), recursion (evaluate), a comparator called from libc
 * (by_count under qsort), memory allocated in a loop, and a kernel share (write).
 *
 *   textstat words N SEED    prints N words, one a line
 *   textstat study N SEED    makes N words, counts, sorts, compresses and evaluates them
 *
 * The same arguments do the same work, so two recordings can be compared.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

/* ---- words ------------------------------------------------------------------------------ */

struct random_state {
    uint64_t value;
};

INLINE uint32_t next_random(struct random_state *state) {
    state->value ^= state->value << 13;
    state->value ^= state->value >> 7;
    state->value ^= state->value << 17;
    return (uint32_t)(state->value >> 32);
}

INLINE char pick(struct random_state *random, const char *letters, uint32_t count) {
    return letters[(uint64_t)next_random(random) * count >> 32];
}

/* Syllables of consonant and vowel; short words are common, as in languages. */
NOINLINE size_t make_word(struct random_state *random, char *word) {
    size_t length = 0;
    do {
        word[length++] = pick(random, "bdfgklmnprstvz", 14);
        word[length++] = pick(random, "aeiou", 5);
    } while (length < 12 && next_random(random) % 3 == 0);
    word[length] = '\0';
    return length;
}

/* ---- counting --------------------------------------------------------------------------- */

struct entry {
    char *word;
    uint32_t hash;
    uint32_t count;
};

struct table {
    struct entry *entries;
    size_t capacity; /* a power of two */
    size_t used;
};

INLINE uint32_t hash_step(uint32_t hash, unsigned char byte) {
    return (hash ^ byte) * 16777619u;
}

INLINE uint32_t hash_word(const char *word) {
    uint32_t hash = 2166136261u;
    for (; *word; word++) hash = hash_step(hash, (unsigned char)*word);
    return hash;
}

NOINLINE void grow(struct table *table) {
    struct table bigger = {NULL, table->capacity ? table->capacity * 2 : 1024, table->used};
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries) abort();
    for (size_t i = 0; i < table->capacity; i++) {
        struct entry *old = &table->entries[i];
        if (!old->word) continue;
        size_t at = old->hash & (bigger.capacity - 1);
        while (bigger.entries[at].word) at = (at + 1) & (bigger.capacity - 1);
        bigger.entries[at] = *old;
    }
    free(table->entries);
    *table = bigger;
}

NOINLINE void count_word(struct table *table, const char *word) {
    if (table->used * 2 >= table->capacity) grow(table);
    uint32_t hash = hash_word(word);
    size_t at = hash & (table->capacity - 1);
    for (; table->entries[at].word; at = (at + 1) & (table->capacity - 1)) {
        struct entry *entry = &table->entries[at];
        if (entry->hash == hash && strcmp(entry->word, word) == 0) {
            entry->count++;
            return;
        }
    }
    char *copy = strdup(word);
    if (!copy) abort();
    table->entries[at] = (struct entry){copy, hash, 1};
    table->used++;
}

static int by_count(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    if (!a->word || !b->word) return !a->word - !b->word;
    return strcmp(a->word, b->word);
}

NOINLINE uint64_t rank(struct table *table) {
    uint64_t sum = 0;
    qsort(table->entries, table->capacity, sizeof *table->entries, by_count);
    for (size_t i = 0; i < table->used; i++) {
        sum = sum * 31 + table->entries[i].count;
        free(table->entries[i].word);
    }
    free(table->entries);
    *table = (struct table){NULL, 0, 0};
    return sum;
}

/* ---- compression ------------------------------------------------------------------------ */

#define WINDOW 32768
#define CHAIN 48

INLINE size_t match_length(const char *a, const char *b, size_t limit) {
    size_t length = 0;
    while (length < limit && a[length] == b[length]) length++;
    return length;
}

INLINE uint32_t three_bytes(const char *at) {
    return ((unsigned char)at[0] << 10 ^ (unsigned char)at[1] << 5 ^ (unsigned char)at[2]) & 32767;
}

struct matcher {
    int32_t newest[WINDOW];
    int32_t older[WINDOW];
};

NOINLINE size_t longest_match(const struct matcher *matcher, const char *text, size_t at,
                              size_t end) {
    size_t best = 0, limit = end - at < 258 ? end - at : 258;
    int32_t candidate = matcher->newest[three_bytes(text + at)];
    for (int tries = 0; tries < CHAIN && candidate >= 0 && at - candidate < WINDOW; tries++) {
        size_t length = match_length(text + candidate, text + at, limit);
        if (length > best) best = length;
        candidate = matcher->older[candidate % WINDOW];
    }
    return best;
}

/* How many tokens a Lempel-Ziv coder would write. */
NOINLINE uint64_t compress(const char *text, size_t size) {
    struct matcher *matcher = malloc(sizeof *matcher);
    if (!matcher) abort();
    memset(matcher, 0xff, sizeof *matcher);
    uint64_t tokens = 0;
    for (size_t at = 0; at + 3 < size; tokens++) {
        size_t length = longest_match(matcher, text, at, size);
        size_t step = length < 3 ? 1 : length;
        for (size_t i = 0; i < step && at + 3 < size; i++, at++) {
            uint32_t slot = three_bytes(text + at);
            matcher->older[at % WINDOW] = matcher->newest[slot];
            matcher->newest[slot] = (int32_t)at;
        }
    }
    free(matcher);
    return tokens;
}

/* ---- recursion -------------------------------------------------------------------------- */

/* The value of an expression tree that is made up while it is walked. */
NOINLINE uint64_t evaluate(struct random_state *random, int depth) {
    uint32_t kind = next_random(random);
    if (depth == 0 || kind % 7 == 0) return kind;
    uint64_t left = evaluate(random, depth - 1);
    uint64_t right = evaluate(random, depth - 1);
    return kind % 2 ? left + right : left * (right | 1);
}

/* ---- the two commands ------------------------------------------------------------------- */

static void print_words(long count, struct random_state random) {
    char word[16];
    for (long i = 0; i < count; i++) {
        make_word(&random, word);
        puts(word);
    }
}

static void study(long count, struct random_state random) {
    struct table table = {NULL, 0, 0};
    char word[16], *text = malloc((size_t)count * 16), *end = text;
    if (!text) abort();
    for (long i = 0; i < count; i++) {
        size_t length = make_word(&random, word);
        count_word(&table, word);
        memcpy(end, word, length);
        end += length;
        *end++ = ' ';
    }
    printf("ranks %016llx\n", (unsigned long long)rank(&table));
    printf("tokens %llu\n", (unsigned long long)compress(text, (size_t)(end - text)));
    uint64_t value = 0;
    for (long i = 0; i < count / 20000; i++) value += evaluate(&random, 20);
    printf("value %016llx\n", (unsigned long long)value);
    free(text);
}

int main(int argc, char **argv) {
    long count = argc == 4 ? atol(argv[2]) : 0;
    struct random_state random = {argc == 4 ? strtoull(argv[3], NULL, 10) | 1 : 1};
    if (count > 0 && strcmp(argv[1], "words") == 0) print_words(count, random);
    else if (count > 0 && strcmp(argv[1], "study") == 0) study(count, random);
    else {
        fprintf(stderr, "usage: textstat words|study N SEED\n");
        return 2;
    }
    return 0;
}
