"""Tries every order of a model's steps, and says what breaks. `journal.py` and `fold.py` are such models."""
from collections import deque


class Broken(Exception):
    pass


def search(model, limit=None):
    """The number of states, what is broken or None, and the shortest way there."""
    came = {model.first: None}
    queue = deque([model.first])

    def way(state, last):
        steps = [last] if last else []
        while came[state]:
            state, step = came[state]
            steps.append(step)
        return steps[::-1]

    while queue:
        state, step = queue.popleft(), None
        try:
            model.check(state)
            is_stuck = model.must_go_on(state)
            for p, process in enumerate(state.processes):
                step = f"{p}: {process.step}{' ' + process.program if process.step == 'idle' and process.program else ''}"
                for after in model.steps(state, p):
                    is_stuck = False
                    if after not in came:
                        came[after] = (state, step)
                        queue.append(after)
            step = None
            if is_stuck:
                raise Broken("everybody waits")
            for what, after in model.others(state):
                if after not in came:
                    came[after] = (state, what)
                    queue.append(after)
        except Broken as broken:
            return len(came), str(broken), way(state, step)
        if limit and len(came) > limit:
            return len(came), "not complete", []
    return len(came), None, []


def main(words, make, worlds, long_worlds, short, rules, spare=()):
    """Searches the worlds, and each again without one rule. `make` makes a model of a world and of what is left out."""
    is_whole, every = words == ["--whole"], {**worlds, **long_worlds}
    if words and words[0] in every:
        states, broken, way = search(make(*every[words[0]], words[1:]))
        print("\n".join(way + [f"{states} states: {broken or 'no property is broken'}"]))
        return broken is not None
    names = [name for name in (every if is_whole else worlds) if words != ["--short"] or name in short]
    wrong = 0

    def run(name, left_out, must_break):
        states, broken, _ = search(make(*every[name], left_out))
        without = f"without {', '.join(left_out)}: " if left_out else ""
        print(f"{name:28} {states:8} states  {without}{broken or ('not refused' if must_break else 'no property is broken')}", flush=True)
        return (broken is not None) != must_break

    for name in names:
        wrong += run(name, (), False)
        if spare and is_whole:
            wrong += run(name, spare, False)
    for rule, (name, _) in rules.items():
        wrong += run(name, (rule,), True)
    print(f"{wrong} not as expected")
    return wrong > 0
