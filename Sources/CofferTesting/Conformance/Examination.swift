internal import CofferPlatform
internal import CofferStorage

struct Examination<R: Route>: Sendable {
  let check: ConformanceCheck
  let suite: StoreConformance<R>
  let subject: StoreConformance<R>.Subject
  var store: any Store<R> { subject.store }
  var samples: Samples<R> { suite.samples }

  func perform() async throws {
    switch check {
    case .absence: try absence()
    case .saving: try saving()
    case .replacing: try replacing()
    case .removing: try removing()
    case .names: try names()
    case .severalAtOnce: try severalAtOnce()
    case .stamps: try stamps()
    case .sessionItems: try sessionItems()
    case .batches: try batches()
    case .expectations: try expectations()
    case .emptyBatch: try emptyBatch()
    case .decisions: try decisions()
    case .forgetting: try forgetting()
    case .updates: try updates()
    case .failingUpdates: try failingUpdates()
    case .reentrancy: try reentrancy()
    case .badNames: try badNames()
    case .goodNames: try goodNames()
    case .limits: try limits()
    case .changes: try await changes()
    case .unchanged: try await unchanged()
    case .changeOrder: try await changeOrder()
    case .closing: try await closing()
    case .reopening: try reopening()
    case .concurrency: try await concurrency()
    case .errors: try errors()
    }
  }

  func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(ConformanceFailure) {
    guard !condition else { return }
    throw ConformanceFailure(store: suite.name, check: check, what: otherwise(), underlying: nil)
  }

  @discardableResult
  func expect(_ kind: StoreError.Kind, _ call: String, _ body: () throws -> Void) throws -> StoreError {
    do { try body() } catch let error as StoreError {
      try expect(error.kind == kind, "\(call) throws .\(error.kind) instead of .\(kind): \(error)")
      return error
    }
    try expect(false, "\(call) returns instead of throwing .\(kind)")
    return StoreError(kind, "", cure: "")
  }

  /// Checks each kind of read.
  func expectValue(_ form: R.Form?, of name: String, in subject: StoreConformance<R>.Subject? = nil, _ when: String) throws {
    let subject = subject ?? self.subject, store = subject.store
    let found = try store.load(name)
    try expect(isSame(found, form), "\(when), load of '\(name)' gives \(describe(found)) instead of \(describe(form))")
    let reading = try store.load([name])
    try expect(reading.count == 1 && isSame(reading[0].form, form), "\(when), load of ['\(name)'] gives something else")
    try expect(try subject.contains(name) == (form != nil), "\(when), contains('\(name)') is \(form == nil)")
  }

  func isSame(_ left: R.Form?, _ right: R.Form?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): samples.isEqual(left, right)
    default: false
    }
  }

  private func describe(_ form: R.Form?) -> String { form == nil ? "nil" : "a value" }
}
