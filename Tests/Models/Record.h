/* The records that a model is asked about: lines of a process and a step, in numbers, and a line of 0 0 after each record. They come in the
 * file that the variable RECORDS names. At its end the program says of each record whether the model allows it, and how far. */
#define RECORD_MOST 255
#define RECORD_LONGEST 1024
#define RECORD_CODE(process, step) ((process) * 64 + (step))

c_decl {
  \#include <stdio.h>
  \#include <stdlib.h>


  static short record_codes[RECORD_MOST][RECORD_LONGEST];
  /* The processes, as bits, whose next line from here on says that they die. */
  static unsigned char record_dying[RECORD_MOST][RECORD_LONGEST];
  static short record_lengths[RECORD_MOST], record_passed[RECORD_MOST];
  static int record_count;

  static void record_tell(void) {
    for (int i = 0; i < record_count; i++)
      printf("RECORD %d %s %d of %d\n", i, record_passed[i] == record_lengths[i] ? "allowed" : "refused", record_passed[i],
             record_lengths[i]);
  }

  static void record_load(int dies) {
    FILE *file = fopen(getenv("RECORDS"), "r");
    int process, step;
    if (!file) { perror("RECORDS"); exit(1); }
    while (fscanf(file, "%d %d", &process, &step) == 2) {
      if (process == 0) { record_count++; continue; }
      if (record_count == RECORD_MOST || record_lengths[record_count] == RECORD_LONGEST - 1) { fprintf(stderr, "too many lines\n"); exit(1); }
      record_codes[record_count][record_lengths[record_count]++] = RECORD_CODE(process, step);
    }
    fclose(file);
    for (int i = 0; i < record_count; i++) {
      unsigned char dying = 0;
      for (int at = record_lengths[i] - 1; at >= 0; at--) {
        unsigned char bit = 1 << record_codes[i][at] / 64;
        dying = record_codes[i][at] % 64 == dies ? dying | bit : dying & ~bit;
        record_dying[i][at] = dying;
      }
    }
    atexit(record_tell);
  }

  static void record_pass(int which, int place) {
    if (place > record_passed[which]) record_passed[which] = place;
  }
};

/* Nothing more is asked of a record that was allowed once. */
#define RECORD_ASKS (record_passed[now.which] < record_lengths[now.which])
/* Whether the record goes on with `step` of `process`. */
#define RECORD_SAYS(process, step) (RECORD_ASKS && record_codes[now.which][now.place] == RECORD_CODE(process, step))
/* Whether the next that it says of `process` is that it dies. */
#define RECORD_KILLS(process) (RECORD_ASKS && record_dying[now.which][now.place] >> process & 1)
