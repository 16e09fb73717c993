"""Counts of crash states."""


class Tally:
    def __init__(self):
        self.states, self.wrong, self.contents, self.acknowledged = {}, [], set(), {}

    def add(self, scene, way, content, complaint):
        """One state, made in a `way`: its content as a digest, and what is wrong with it, or None."""
        row = self.states.setdefault((scene, way), [0, 0])
        row[0] += 1
        if content not in self.contents:
            row[1] += 1
            self.contents.add(content)
        if complaint:
            self.wrong.append((scene, way, complaint))
            print(f"WRONG: {scene}, {way}: {complaint}", flush=True)

    def acknowledge(self, scene):
        """What programs of a scene were told to have been made, before it ends. Where that is nothing, no state could have lost anything."""
        self.acknowledged[scene.name] = self.acknowledged.get(scene.name, 0) + scene.history.acknowledged()

    @property
    def idle(self):
        return [scene for scene, count in self.acknowledged.items() if count == 0]

    def report(self):
        for scene, count in self.acknowledged.items():
            print(f"{scene + ':':32} {count:6} changes acknowledged")
        for (scene, way), (states, different) in self.states.items():
            print(f"{scene + ':':32} {states:6} states {way} ({different} different)")
        words = {"lost": 0, "torn": 0, "refused": 0, "blessed": 0}
        for _, _, complaint in self.wrong:
            words[complaint.split(":")[0]] += 1
        print(f"{sum(row[0] for row in self.states.values())} crash states, {len(self.contents)} of them different; "
              + ", ".join(f"{count} {word}" for word, count in words.items()))
