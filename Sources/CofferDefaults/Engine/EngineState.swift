internal import CofferStorage

/// A process's knowledge of a domain: the list's values with the journal's changes applied.
struct EngineState: ~Copyable {
  var values: [String: PlainForm] = [:]
  var weight = 0
  var isJournalled = false
  var batches = OpenBatches()
  /// The known end of the journal, the record that ends there, and the beginning.
  var seen = JournalWord.never
  var last = RecordLink()
  var start = 0
  var journal: Journal?
  /// A failed fold raises it.
  var foldAt = JournalLayout.foldAt

  /// The bytes that a fold frees.
  var spentBytes: Int { seen.end - start - batches.preparedBytes }
  /// Room for outcomes, and for the records that a fold keeps.
  var keptBytes: Int { JournalLayout.keptForOutcomes + batches.preparedBytes }

  var list = ListFingerprint.none
  var listIsSettled = true
  var encoding = PropertyList.Encoding.xml
  var nextLook: UInt64 = 0
  /// Nil while nobody observes.
  var unreported: UnreportedChanges?
  /// The first unreadable list may be another program's write in progress; the second is damage.
  var suspect: ListFingerprint?

  mutating func begin(with content: consuming ListContent) {
    list = content.fingerprint
    listIsSettled = content.isSettled
    encoding = content.encoding
    if unreported != nil { unreported?.noteReading(over: values) }
    values = content.values
    weight = values.reduce(0) { $0 + Budget.weight(of: $1.value, under: $1.key) }
    isJournalled = false
    batches.beginAgain()
    suspect = nil
  }

  @inline(__always)
  mutating func set(_ name: String, _ form: PlainForm?, at index: Dictionary<String, PlainForm>.Index? = nil, weight: Int) {
    if unreported != nil { noteChange(of: name) }
    self.weight = weight
    isJournalled = true
    if let index, let form { values.values[index] = form } else { values[name] = form }
  }

  @inline(__always)
  func weight(replacing name: String, by form: PlainForm?) -> Int {
    weight - Budget.weight(of: values[name], under: name) + Budget.weight(of: form, under: name)
  }

  mutating func apply(_ record: Record) {
    switch record {
    case .write(let changes, let cause): apply(changes, cause)
    case .prepare(let batch): batches.prepare(batch)
    case .commit(let id): if let batch = batches.commit(id) { apply(batch.changes, batch.cause) }
    case .drop(let id): batches.drop(id)
    }
  }

  private mutating func apply(_ changes: [Record.Change], _ cause: Record.Cause) {
    if unreported != nil { unreported?.author.cause = cause }
    for (name, form) in changes { set(name, form, weight: weight(replacing: name, by: form)) }
    if unreported != nil { unreported?.author.cause = .write }
  }
}
