internal import CofferPlatform
internal import CofferStorage

// What is refused, and how it is said.
extension Examination {
  func badNames() throws {
    let one = try samples.number(1)
    for bad in ["", String(repeating: "n", count: StoredName.longest + 1), "a\nb", "a\u{0}b", "\u{7f}"] {
      try expect(.invalidName, "save under a bad name") { try store.save(one, for: bad) }
    }
    try expect(try store.names().isEmpty, "a bad name was stored")
  }

  func goodNames() throws {
    let one = try samples.number(1)
    let good = [
      String(repeating: "n", count: StoredName.longest), " ", "a b", "a.b", "a/b", "../a", "é", "漢", "🗝", "$key", "key'\"", "-x",
    ]
    for name in good {
      try store.save(one, for: name)
      try expectValue(one, of: name, "after it was saved")
    }
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
