internal import CofferPlatform
internal import CofferStorage
internal import Foundation

extension Examination {
  func absence() throws {
    try expectValue(nil, of: "a", "before anything was stored")
    try expect(try store.names().isEmpty, "a fresh store has names")
    try expect(!store.place.isEmpty, "it does not say where its values are")
  }

  func saving() throws {
    for (index, form) in try samples.forms().enumerated() {
      try store.save(form, for: "key \(index)")
      try expectValue(form, of: "key \(index)", "after sample \(index) was saved")
    }
    for (index, form) in try samples.forms().enumerated() {
      try expectValue(form, of: "key \(index)", "after all samples were saved")
    }
  }

  func replacing() throws {
    for (index, form) in try samples.forms().enumerated() {
      try store.save(form, for: "a")
      try expectValue(form, of: "a", "after sample \(index) took another's place")
    }
    try expect(try store.names() == ["a"], "replacing made another name")
  }

  func removing() throws {
    let form = try samples.number(1)
    try store.save(nil, for: "a")
    try expectValue(nil, of: "a", "after nothing was removed")
    try store.save(form, for: "a")
    try store.save(form, for: "b")
    try store.save(nil, for: "a")
    try expectValue(nil, of: "a", "after it was removed")
    try expectValue(form, of: "b", "after another was removed")
    try expect(try store.names() == ["b"], "a removed name is still listed")
    try store.save(form, for: "a")
    try expectValue(form, of: "a", "after it was stored again")
  }

  func names() throws {
    let names = ["b", "a", "é", "Z", "a b", "a.b", "10", "9"]
    for name in names { try store.save(try samples.number(1), for: name) }
    let found = try store.names()
    try expect(found == names.sorted(), "names() gives \(found)")
  }

  func severalAtOnce() throws {
    let (one, two) = (try samples.number(1), try samples.number(2))
    try store.save(one, for: "a")
    try store.save(two, for: "b")
    let readings = try store.load(["b", "absent", "a", "b"])
    try expect(readings.count == 4, "four names give \(readings.count) readings")
    let expected = [two, nil, one, two]
    for (reading, form) in zip(readings, expected) {
      try expect(isSame(reading.form, form), "readings are not in the order asked for")
    }
    try expect(readings[0].stamp == readings[3].stamp, "one name has two stamps at one moment")
    try expect(try store.load([]).isEmpty, "no names give readings")
  }

  func stamps() throws {
    func stamp() throws -> R.Stamp {
      let stamp = try store.load(["a"])[0].stamp
      try expect(try subject.version?("a") ?? stamp == stamp, "version(of:) and a reading have different stamps")
      return stamp
    }
    let absent = try stamp()
    try store.save(try samples.number(1), for: "a")
    let first = try stamp()
    try store.save(try samples.number(9), for: "b")
    try expect(try stamp() == first, "a stamp changes with another's value")
    try store.save(try samples.number(2), for: "a")
    let second = try stamp()
    try expect(first != absent && second != first && second != absent, "a stamp stays as its value changes")
    try store.save(nil, for: "a")
    try expect(try stamp() == absent, "the stamp of what is absent is not always the same")
  }

  func sessionItems() throws {
    guard let sessionItems = subject.sessionItems else { return }
    try store.save(try samples.number(1), for: "other")
    try expect(try sessionItems().isEmpty, "a value that says nothing of sessions is listed")
    let past = Date(timeIntervalSince1970: 1)
    guard let lasting = try samples.ofSession(nil), let expired = try samples.ofSession(past) else { return }
    try store.save(lasting, for: "lasting")
    try store.save(expired, for: "expired")
    let items = try sessionItems()
    try expect(items.keys.sorted() == ["expired", "lasting"], "the items of a session are said to be \(items.keys.sorted())")
    for (name, stamp) in items {
      try expect(try subject.version?(name) == stamp, "'\(name)' is listed with another stamp than its own")
    }
  }

  func reopening() throws {
    guard let reopen = subject.reopen else { return }
    let other = try reopen()
    for (index, form) in try samples.forms().enumerated() {
      try store.save(form, for: "key \(index)")
      try expectValue(form, of: "key \(index)", in: other, "in another opening, after sample \(index) was saved")
      try expectValue(form, of: "key \(index)", in: try reopen(), "in a later opening, after sample \(index) was saved")
    }
    try other.store.save(nil, for: "key 0")
    try expectValue(nil, of: "key 0", "after another opening removed it")
  }
}

extension Examination {
  func badNames() throws {
    let one = try samples.number(1)
    for bad in ["", String(repeating: "n", count: StoredName.longest + 1), "a\nb", "a\u{0}b", "\u{7f}"] {
      try expect(.invalidName, "save under a bad name") { try store.save(one, for: bad) }
    }
    try expect(try store.names().isEmpty, "a bad name was stored")
  }

  func goodNames() throws {
    var good = [
      String(repeating: "n", count: StoredName.longest), " ", "a b", "a.b", "a/b", "../a", "é", "漢", "🗝", "$key", "key'\"", "-x",
    ]
    // They look the same, but a vault's names are bytes.
    if R.self == Vault.self { good += ["\u{E4}", "a\u{308}"] }
    for (number, name) in good.enumerated() {
      try store.save(try samples.number(number), for: name)
      try expectValue(try samples.number(number), of: name, "after it was saved")
    }
    for (number, name) in good.enumerated() { try expectValue(try samples.number(number), of: name, "after all were saved") }
    try expect(try store.names().count == good.count, "names that are equal to people only were taken for one, or one for two")
  }

  func limits() throws {
    guard let limit = suite.abilities.largestValue else { return }
    let one = try samples.number(1)
    try store.save(one, for: "a")
    try expect(.tooLarge(limit: limit), "a value over the limit") { try store.save(try samples.large(limit + 1), for: "a") }
    try expectValue(one, of: "a", "after a value over the limit was refused")
    let largest = try samples.large(limit)
    try store.save(largest, for: "a")
    try expectValue(largest, of: "a", "after the largest value was saved")
  }

  func errors() throws {
    let mark = "not-to-be-seen-anywhere"
    let form = try samples.holding(mark)
    try store.save(form, for: "a")
    var stale = Batch<R>()
    stale.expectations["a"] = try store.load(["absent"])[0].stamp
    stale.writes["a"] = .set(form)
    let thrown = [
      try expect(.invalidName, "a bad name") { try store.save(form, for: "x\ny") },
      try expect(.conflict, "a conflict") { try store.commit(stale, decision: nil) },
      try expect(.reentrant, "a call inside an update") {
        try store.update("a") { (_) throws(StoreError) in
          try store.save(form, for: "b")
          return form
        }
      },
    ]
    for error in thrown {
      try expect(!"\(error)".contains(mark) && !String(reflecting: error).contains(mark), "an error holds a value")
      try expect(!error.cure.isEmpty && !error.what.isEmpty, "an error does not say what happened and what to do")
    }
    try expect(thrown[1].key == "a" && thrown[1].place != nil, "a conflict does not say where it is")
  }
}
