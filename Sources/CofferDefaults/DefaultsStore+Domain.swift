public import CofferPlatform
public import CofferStorage
public import FoundationEssentials

extension DefaultsStore {
  /// All values of the domain at one moment, without overrides, suites and registered values.
  ///
  /// - Throws: the errors of ``load(_:)-(String)``.
  public func contents() throws(StoreError) -> [String: PlainForm] {
    try check()
    var values = try engine.contents()
    values[ReservedName.scrubPending] = nil
    guard !prefix.isEmpty else { return values }
    var own: [String: PlainForm] = [:]
    for (name, form) in values {
      if let rest = name.rest(after: prefix), !rest.isEmpty { own[rest] = form }
    }
    return own
  }

  /// Moves the value of `old` to `new` in one step, replacing the value of `new`. Equal names change nothing.
  ///
  /// - Throws: `StoreError` `.notFound` when `old` has no value in the domain; `.busy` when others keep changing it; the
  ///   errors of ``save(_:for:)``.
  public func rename(_ old: String, to new: String) throws(StoreError) {
    _ = try checked(new)
    for _ in 0..<Self.renameAttempts {
      guard let form = try load([old])[0].stamp else {
        throw StoreError(
          .notFound, "there is no value to rename", key: old, place: place, cure: "names() lists the names that have values")
      }
      guard old != new else { return }
      var batch = Batch<Plain>()
      batch.expectations[old] = .some(form)
      batch.writes[old] = .remove
      batch.writes[new] = .set(form)
      do { return try commit(batch, decision: nil) } catch {
        guard case .conflict = error.kind else { throw error }
      }
    }
    throw StoreError(.busy, "other processes keep changing the value", key: old, place: place, cure: "try again")
  }

  /// Each failed attempt means that another writer succeeded.
  private static var renameAttempts: Int { 16 }

  /// The domain's own values as an XML property list.
  ///
  /// - Throws: the errors of ``contents()``.
  public func exportPropertyList() throws(StoreError) -> Data { XMLPropertyList.encode(try contents()) }

  /// Stores every value of a property list in one step. Other names keep their values.
  ///
  /// - Parameter data: a binary or XML property list with a dictionary at its root.
  /// - Parameter source: the origin of `data`, for messages.
  /// - Throws: `StoreError` `.damaged` when `data` is no such list, `.tooLarge`, and the errors of ``save(_:for:)`` for any
  ///   value. Nothing has changed then.
  public func importPropertyList(_ data: Data, from source: String) throws(StoreError) {
    let values = try Self.values(ofPropertyList: data, from: source)
    var batch = Batch<Plain>()
    for (name, form) in values { batch.writes[name] = .set(form) }
    try commit(batch, decision: nil)
  }

  package static func values(ofPropertyList data: Data, from source: String) throws(StoreError) -> [String: PlainForm] {
    guard data.count <= Budget.file else {
      throw StoreError(
        .tooLarge(limit: Budget.file), "the property list is over \(Budget.file) bytes", place: source,
        cure: "import it in parts; nothing was changed")
    }
    let values: [String: PlainForm]
    do throws(PropertyList.Failure) { values = try PropertyList.decode(data).values } catch {
      throw StoreError(
        .damaged, error.what, place: source,
        cure: "give an XML or binary property list with a dictionary at its root; nothing was changed")
    }
    for (name, form) in values { try checkStorable(form, under: name) }
    return values
  }

  /// Throws the error of a write before anything is opened for writing.
  package static func checkStorable(_ form: PlainForm, under name: String) throws(StoreError) {
    try StorableForm.check(name: name)
    try StorableForm.check(form, for: name)
  }

  package static var largestPropertyList: Int { Budget.file }
}

extension PlainForm {
  /// Nil when `text` is no XML property list, with or without `<plist>` around it.
  package init?(propertyListXML text: String) {
    do throws(PropertyList.Failure) { self = try PropertyList.value(xml: Data(text.utf8)) } catch { return nil }
  }
}
