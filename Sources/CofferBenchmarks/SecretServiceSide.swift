internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// A provider of `org.freedesktop.secrets` on its own bus, and its clients.
final class SecretServiceSide {
  let home: String
  let environment: [String: String]

  private init(_ home: String, _ given: [String: String]) throws {
    self.home = home
    try Shell.run("mkdir -m 700 \(home) \(home)/run")
    let folders = ["HOME": home, "XDG_DATA_HOME": home + "/share", "XDG_CONFIG_HOME": home, "XDG_RUNTIME_DIR": home + "/run"]
    let own = given.merging(folders) { $1 }
    try SecretPeers.environment(own) {
      try Shell.run("dbus-daemon --session --fork --print-address=3 --print-pid=4 3>\(home)/bus 4>\(home)/pid")
    }
    let bus = try String(contentsOfFile: home + "/bus", encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    environment = own.merging(["DBUS_SESSION_BUS_ADDRESS": bus]) { $1 }
  }

  /// Coffer, which the bus starts on demand, over a vault that a key file opens.
  ///
  /// - Parameter items: the number of items in its collection `login`.
  static func coffer(_ program: String, in home: String, items: Int = 0) throws -> SecretServiceSide {
    let key = home + "/key"
    let side = try SecretServiceSide(home, ["COFFER_HOME": home + "/vault", "COFFER_KEY_FILE": key])
    try side.shell("env -u COFFER_KEY_FILE \(program) init --quiet --new-key-file \(key)")
    try side.shell("\(program) secret-service install --quiet")
    try fill(home, key, items)
    // The bus reads its folders at its start, and on request.
    let reload = "--dest=org.freedesktop.DBus / org.freedesktop.DBus.ReloadConfig"
    try side.shell("dbus-send --session --print-reply \(reload) && \(store)")
    return side
  }

  /// gnome-keyring, unlocked.
  static func gnomeKeyring(in home: String) throws -> SecretServiceSide {
    let side = try SecretServiceSide(home, [:])
    try side.shell("printf x | gnome-keyring-daemon --unlock --components=secrets 2>/dev/null && \(store)")
    return side
  }

  private static let store = "printf s3cret | secret-tool store --label=coffer coffer-bench yes"

  private static func fill(_ home: String, _ key: String, _ count: Int) throws {
    guard count > 0 else { return }
    let content = try Data(contentsOf: URL(fileURLWithPath: key))
    let bytes = try content.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let locked = try LockedVault.open(VaultPlace(home + "/vault/data/vault.sqlite"), options: .withoutPins)
    let vault = try locked.unlock(with: Credentials(keyFile: bytes))
    let items = try (0..<count).map { number in
      let metadata = ItemMetadata(
        label: "item \(number)", attributes: ["number": "\(number)", "xdg:schema": "org.freedesktop.Secret.Generic"])
      return ImportedItem(
        name: try ItemName(service: "secret-service:login", account: "number\(number)"),
        form: SecretForm(try SecretBytes.random(32), metadata: metadata))
    }
    _ = try vault.add(items)
  }

  func shell(_ line: String) throws { try SecretPeers.environment(environment) { try Shell.run(line) } }

  /// One `secret-tool lookup`, from start to end.
  func lookup(_ name: String, _ goals: [Goal]) -> Contender {
    let words = ["/usr/bin/secret-tool", "lookup", "coffer-bench", "yes"]
    let contender = CommandLineBenchmark.process(name, words, goals)
    return Contender(name: name, count: 1, goals: goals) { [environment] step in
      try SecretPeers.environment(environment) { try contender.body(step) }
    }
  }

  func stop() {
    do { try Shell.run("kill $(cat \(home)/pid)") } catch { print("a bus was left running: \(error)") }
  }
}

/// A lasting client: a process of Python that repeats an operation as often as requested.
final class SecretServiceClient {
  private let process = Process()
  private let questions = Pipe(), answers = Pipe()

  private static let script = """
    sys, secretstorage = __import__('sys'), __import__('secretstorage')
    from secretstorage.util import DBusAddressWrapper, open_session
    bus = secretstorage.dbus_init()
    session = open_session(bus)
    service = DBusAddressWrapper('/org/freedesktop/secrets', 'org.freedesktop.Secret.Service', bus)
    collection = secretstorage.get_default_collection(bus, session)
    wanted = {'coffer-bench': 'yes'}
    def storage(step):
      item = next(collection.search_items(wanted))
      item.session = session
      assert item.get_secret() == b's3cret'
    def calls(step):
      found, locked = service.call('SearchItems', 'a{ss}', wanted)
      DBusAddressWrapper(found[0], 'org.freedesktop.Secret.Item', bus).call('GetSecret', 'o', session.object_path)
    def bus_alone(step):
      for call in range(2): service.call('ReadAlias', 's', 'default')
    def search(step):
      found, locked = service.call('SearchItems', 'a{ss}', {'number': '4711'})
      assert len(found) == 1
    def mixed(step):
      if step % 20: return calls(step)
      item = collection.create_item('x', {'mixed': str(step % 400)}, b'value %d' % step, replace=True)
      if step % 40: item.delete()
    for line in sys.stdin:
      name, count = line.split()
      for step in range(int(count)): globals()[name](step)
      print('done', flush=True)
    """

  init(_ side: SecretServiceSide) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-c", Self.script]
    process.environment = ["PATH": "/usr/bin:/bin"].merging(side.environment) { $1 }
    (process.standardInput, process.standardOutput) = (questions, answers)
    try process.run()
  }

  func run(_ operation: String, _ count: Int) throws {
    try questions.fileHandleForWriting.write(contentsOf: Data("\(operation) \(count)\n".utf8))
    guard !answers.fileHandleForReading.availableData.isEmpty else { throw Shell.Failed(line: operation) }
  }

  func contender(_ name: String, _ operation: String, _ goals: [Goal]) -> Contender {
    let count = 50
    return Contender(name: name, count: count, goals: goals) { step in
      // All of them in one request, which costs a wait by itself.
      if step == 0 { try self.run(operation, count) }
    }
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
