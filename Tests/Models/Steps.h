/* How a model's steps meet those of the code. A step is what a process does next that others can notice.
 *
 * by default  SPIN tries every order of all steps.
 * REPLAY      A simulation prints each step. Nobody else moves before the process that made one stands before its next.
 * ACCEPT      Is there an order of the model's steps that a record of the code allows? The record says who reached which step, in order.
 *             The step itself is made at any time from then on, before the same process reaches its next.
 *
 * A model says by LOCAL how C calls what is local to its processes: P and the name of the proctype.
 */
#if defined(REPLAY)
byte turn = 0;
#define MAY(p) (turn == 0 || turn == p)
#define REACH(p, step) turn = 0;
#define SAID(p, word)
#define MADE(p, step) printf("STEP %d %d\n", p, step); turn = p;
#define RESTS(p) turn = 0
#elif defined(ACCEPT)
#include "Record.h"
byte which = 0;
short place = 0;
#define MAY(p) true
#define SAID(p, word) \
  atomic { c_expr { RECORD_SAYS(LOCAL->p, word) } -> place++; c_code { record_pass(now.which, now.place); } };
#define REACH(p, step) SAID(p, step)
#define MADE(p, step)
#define RESTS(p) skip
#else
#define MAY(p) true
#define SAID(p, word)
#define REACH(p, step)
#define MADE(p, step)
#define RESTS(p) skip
#endif

/* A step that others can notice, and what a process does by itself between two. */
#define STEP(p, step, guard, effect) REACH(p, step) atomic { (guard) && MAY(p) -> MADE(p, step) effect }
#define QUIET(effect) atomic { effect }
/* What a process is told from outside, and what it answers. */
#define TOLD(p, word, guard, effect) atomic { (guard) && MAY(p) -> MADE(p, word) effect }; SAID(p, word) skip
#define ANSWERS(p, word) REACH(p, word) atomic { MAY(p) -> MADE(p, word) RESTS(p) }

/* A step that is over before anybody makes another, as one caller makes all of them: `WHEN` is its guard, and `MADE_NOW` stands before its
 * effect. `WHEN_ALONE` is for a process that there is once, by its number. A simulation makes TRACE_LENGTH of them. */
#if defined(REPLAY)
#define TRACE_LENGTH 40
byte length = 0;
#define WHEN(p, step, guard) ((guard) && length < TRACE_LENGTH)
#define WHEN_ALONE(p, step, guard) WHEN(p, step, guard)
#define MADE_NOW(p, step) length++; printf("STEP %d %d\n", p, step);
#elif defined(ACCEPT)
#define WHEN(p, step, guard) ((guard) && c_expr { RECORD_SAYS(LOCAL->p, step) })
#define WHEN_ALONE(p, step, guard) ((guard) && c_expr { RECORD_SAYS(p, step) })
#define MADE_NOW(p, step) place++; c_code { record_pass(now.which, now.place); };
#else
#define WHEN(p, step, guard) (guard)
#define WHEN_ALONE(p, step, guard) (guard)
#define MADE_NOW(p, step)
#endif
