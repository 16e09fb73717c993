internal import Foundation

/// Other programs that keep secrets, each with its own store of one secret.
enum SecretPeers {
  /// Lends the words that look the secret up with `secret-tool`.
  static func libsecret(in folder: String, _ body: ([String]) throws -> Void) throws {
    guard isInstalled(["secret-tool", "dbus-daemon", "gnome-keyring-daemon"]) else { return }
    let home = folder + "/keyring"
    try Shell.run("mkdir -m 700 \(home) \(home)/run")
    // The daemon ends with its bus.
    try Shell.run("dbus-daemon --session --fork --print-address=3 --print-pid=4 3>\(home)/bus 4>\(home)/pid")
    defer { stop("kill $(cat \(home)/pid)") }
    let bus = try String(contentsOfFile: home + "/bus", encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    let names = ["DBUS_SESSION_BUS_ADDRESS": bus, "HOME": home, "XDG_DATA_HOME": home, "XDG_RUNTIME_DIR": home + "/run"]
    try environment(names) {
      try Shell.run("printf x | gnome-keyring-daemon --unlock --components=secrets 2>/dev/null")
      try Shell.run("printf s3cret | secret-tool store --label=coffer coffer-bench yes")
      try body(["/usr/bin/secret-tool", "lookup", "coffer-bench", "yes"])
    }
  }

  /// Lends the words that show the secret with `pass`.
  static func pass(in folder: String, _ body: ([String]) throws -> Void) throws {
    guard isInstalled(["pass", "gpg"]) else { return }
    let home = folder + "/pass"
    try Shell.run("mkdir -m 700 \(home) \(home)/gpg")
    try environment(["GNUPGHOME": home + "/gpg", "PASSWORD_STORE_DIR": home + "/store"]) {
      defer { stop("gpgconf --kill all") }
      try Shell.run("gpg --batch --quiet --passphrase '' --quick-generate-key coffer-bench default default never 2>/dev/null")
      try Shell.run("pass init coffer-bench && printf s3cret | pass insert -e github")
      try body(["/usr/bin/pass", "show", "github"])
    }
  }

  static func isInstalled(_ programs: [String]) -> Bool {
    guard let missing = programs.first(where: { !FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) }) else {
      return true
    }
    print("\n\(programs[0]) is left out: \(missing) is not installed")
    return false
  }

  /// Runs `body` with these variables, for the programs it starts.
  static func environment(_ variables: [String: String], _ body: () throws -> Void) throws {
    let before = ProcessInfo.processInfo.environment
    for (name, value) in variables { setenv(name, value, 1) }
    defer {
      for name in variables.keys {
        if let old = before[name] { setenv(name, old, 1) } else { unsetenv(name) }
      }
    }
    try body()
  }

  private static func stop(_ line: String) {
    do { try Shell.run(line) } catch { print("left running: \(error)") }
  }
}

/// Lines for the shell, whose output is discarded.
enum Shell {
  struct Failed: Error { let line: String }

  /// Foundation's `Process` would wait for every program that the shell leaves running, such as a bus.
  static func run(_ line: String) throws {
    guard system("exec > /dev/null; " + line) == 0 else { throw Failed(line: line) }
  }
}
