internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// A process that executes and answers each input line: `set NAME NUMBER`, `transact NAME NAME NUMBER`, `synchronize`,
/// `read`.
enum Stepped {
  static func run(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let decisions = rest[0]
    let store = try DefaultsStore.open(domain: domain, in: folder, options: EngineOptions(decisions: Dying.lookup("files")))
    answer("ready")
    while let line = readLine() {
      do throws(StoreError) {
        answer(try perform(store, line.split(separator: " ").map(String.init), decisions))
      } catch { answer(error.kind == .moved ? moved(error) : "error \(error.kind): \(error.what)") }
    }
  }

  private static func perform(_ store: DefaultsStore, _ words: [String], _ decisions: String) throws(StoreError) -> String {
    let number = PlainForm.integer(words.last.flatMap { Int64($0) } ?? 0)
    switch words[0] {
    case "set": try store.save(number, for: words[1])
    case "transact":
      var batch = Batch<Plain>()
      batch.writes = [words[1]: .set(number), words[2]: .set(number)]
      let decision = Decision(place: decisions) { (id) throws(StoreError) in
        // The first to settle it has decided.
        guard let id, !FileManager.default.fileExists(atPath: "\(decisions)/\(id).dropped"),
          FileManager.default.createFile(atPath: "\(decisions)/\(id)", contents: Data("\(words[1]) \(words[3])".utf8))
        else { throw StoreError(.busy, "dropped meanwhile", cure: "none") }
      }
      try store.commit(batch, decision: decision)
    case "synchronize": try store.synchronize()
    default:
      // An empty line would look like a dead process.
      let values = try store.contents().map { name, form in
        if case .integer(let value) = form { "\(name)=\(value)" } else { name }
      }
      return (["read"] + values).joined(separator: " ")
    }
    return "done"
  }

  /// The quoted names in the message.
  private static func moved(_ error: StoreError) -> String {
    (["moved"] + error.what.matches(of: /'([^']*)'/).map { String($0.1) }).joined(separator: " ")
  }

  private static func answer(_ line: String) {
    print(line.replacing("\n", with: " "))
    fflush(nil)
  }
}
