"""What programs told of their changes, and what a store may hold after a loss of power."""


class History:
    """Lines as the test tool tells them: `is`, `begin`, `done`, `kept`. See `Tests/TestTool/CrashStates`."""

    def __init__(self):
        self.events = []

    def add(self, line):
        word, _, state = line.partition(" ")
        if word in ("is", "begin", "done", "kept"):
            self.events.append((word, state))

    def __len__(self):
        return len(self.events)

    def acknowledged(self):
        return sum(word == "done" for word, _ in self.events)


class Whole(History):
    """Of a store of which each acknowledged change must be there: `state` is all of it."""

    def complaint(self, found, low, high):
        """What is wrong with `found`, of a moment after the first `low` events and before any after the first `high`."""
        allowed, begun = [None], []
        for number, (word, state) in enumerate(self.events[:high]):
            if number >= low:
                begun += [state] if word in ("begin", "is") else []
            elif word == "begin":
                # One that ended in an error may have been made nevertheless, where the file system died under it.
                begun.append(state)
            elif word in ("is", "done"):
                allowed, begun = [state] if word == "is" else begun[-1:], []
        if found in allowed + begun:
            return None
        kind = "lost" if found in [state for _, state in self.events[:high]] else "torn"
        return f"{kind}: found {found}, allowed {allowed + begun}"

    def must_refuse(self, low, older):
        """Whether the pins of a moment after `low` events know more than a vault of a moment before the event `older`."""
        kept = max((number for number in range(low) if self.events[number][0] == "kept"), default=0)
        before = [state for word, state in self.events[:older] if word in ("is", "begin")]
        last = before[-1] if before else None
        for number in range(older, kept):
            word, state = self.events[number]
            if word == "begin" and state != last:
                return True
        return False


class Parts(History):
    """Of preferences: those that were there at the last `kept` or `is`, each with that value or one that was set since."""

    @staticmethod
    def values(text):
        return dict(part.split("=", 1) for part in text.split(",") if part)

    def complaint(self, found, low, high):
        base, since, current, begun = {}, {}, {}, {}
        for number, (word, state) in enumerate(self.events[:high]):
            if word == "is":
                base, since, current = self.values(state), {}, self.values(state)
            elif word == "begin":
                begun = self.values(state)
                for key, value in begun.items():
                    since.setdefault(key, []).append(value)
            elif word == "done":
                current.update(begun)
            elif word == "kept" and number < low:
                base, since = dict(current), {}
        values = self.values(found)
        for key in set(values) | set(base) | set(since):
            value = values.get(key, "")
            if value != base.get(key, "") and value not in since.get(key, []):
                return f"lost: {key} is {value or 'gone'}, was {base.get(key, 'gone')}, then {since.get(key, [])}"
        if values.get("left") != values.get("right"):
            return f"torn: left is {values.get('left')}, right {values.get('right')}"
        return None
