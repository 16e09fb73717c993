import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

struct Tally: Sendable {
  private(set) var counts: [String: [String: Int]] = [:]
  private(set) var failures: [String] = []

  mutating func add(_ group: String, _ outcome: String) { counts[group, default: [:]][outcome, default: 0] += 1 }

  mutating func add(_ group: String, _ outcome: String, allowed: Set<String>, _ what: @autoclosure () -> String) {
    add(group, outcome)
    if !allowed.contains(outcome) { failures.append("\(group): \(outcome): \(what())") }
  }

  mutating func add(_ other: Tally) {
    for (group, outcomes) in other.counts {
      for (outcome, count) in outcomes { counts[group, default: [:]][outcome, default: 0] += count }
    }
    failures += other.failures
  }

  subscript(outcome: String) -> Int { counts.values.reduce(0) { $0 + ($1[outcome] ?? 0) } }
  func count(of beginning: String) -> Int {
    counts.values.reduce(0) { $0 + $1.reduce(0) { $0 + ($1.key.hasPrefix(beginning) ? $1.value : 0) } }
  }
  var total: Int { counts.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

  /// Prints a line for each class, and fails the test for disallowed outcomes.
  func report(_ title: String, _ location: SourceLocation = #_sourceLocation) {
    print("campaign \(title): \(total) cases")
    for (group, outcomes) in counts.sorted(by: { $0.key < $1.key }) {
      print("  \(group): \(outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
    }
    #expect(total > 0, "no case was tried", sourceLocation: location)
    for failure in failures.prefix(5) { Issue.record("\(failure)", sourceLocation: location) }
    #expect(failures.isEmpty, "\(failures.count) of \(total)", sourceLocation: location)
  }
}

struct KeptFiles: Sendable {
  let files: [String: Data]

  /// The files in `folder`; `names` are relative to the path.
  init(_ folder: FilePath, _ names: [String]? = nil) throws {
    var found: [String: Data] = [:]
    for name in try names ?? FileManager.default.subpathsOfDirectory(atPath: folder.string) {
      let path = folder.string + "/" + name
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else { continue }
      found[name] = try Data(contentsOf: URL(fileURLWithPath: path))
    }
    files = found
  }

  init(_ files: [String: Data]) { self.files = files }

  func with(_ name: String, _ bytes: Data) -> KeptFiles { KeptFiles(files.merging([name: bytes]) { $1 }) }

  /// Writes them to `folder`, where none may be open, and removes a vault's other side files.
  func put(into folder: FilePath) throws {
    for suffix in SideFiles.suffixes where files["vault.sqlite" + suffix] == nil { unlink("\(folder)/vault.sqlite\(suffix)") }
    for (name, bytes) in files {
      let path = FilePath("\(folder)/\(name)")
      let parent = path.removingLastComponent()
      if parent != folder { mkdir(parent.string, 0o700) }
      let file = try FileDescriptor.open(path, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
      _ = try file.closeAfter { try bytes.withUnsafeBytes { try file.writeAll($0) } }
    }
  }
}

extension StoreError {
  /// The error's kind, without case-specific numbers.
  var word: String {
    switch kind {
    case .newerFormat: "newerFormat"
    case .kdfMemory: "kdfMemory"
    case .tooLarge: "tooLarge"
    default: "\(kind)"
    }
  }
}

extension TemporaryVault {
  /// Needs no passphrase.
  func answer(
    _ expected: [ItemName: String], _ options: VaultOptions = .withoutPins, verifying: Bool = true
  ) -> String {
    do throws(StoreError) {
      let vault = try unlocked(options)
      var refusal: StoreError?
      for (name, value) in expected {
        do throws(StoreError) {
          guard text(try vault.get(name)) == value else { return "WRONG VALUE" }
        } catch { refusal = refusal ?? error }
      }
      do throws(StoreError) {
        let listed = try vault.list().map(\.name)
        guard listed == expected.keys.sorted() else { return "WRONG LIST" }
      } catch { refusal = refusal ?? error }
      do throws(StoreError) { if verifying { _ = try vault.verify() } } catch { refusal = refusal ?? error }
      return refusal?.word ?? "right answer"
    } catch {
      return error.word
    }
  }

  func unlocked(_ options: VaultOptions = .withoutPins) throws(StoreError) -> UnlockedVault {
    let credentials: Credentials
    do { credentials = try Self.credentials() } catch { throw StoreError(.memory, "no guarded memory", cure: "-") }
    return try LockedVault.open(path, options: options).unlock(with: credentials)
  }
}
