import CofferTestSupport
import ArgumentParser
import Coffer
import CofferMemory
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct ExitStatusTests {
  static let kinds: [(StoreError.Kind, Int32)] = [
    (.expired, 1), (.notFound, 1),
    (.ambiguous, 2), (.clockBehind, 2), (.kdfMemory(needs: 2, has: 1), 2), (.reentrant, 2), (.closed, 2), (.unencodable, 2),
    (.invalidName, 64), (.duplicateKey, 64), (.undeclared, 64), (.tooLarge(limit: 1), 64),
    (.undecodable(stored: "data"), 65), (.damaged, 65), (.notAVault, 65),
    (.tampered, 66), (.rolledBack, 66), (.forked, 66), (.replaced, 66),
    (.locked, 69), (.alreadyExists, 73),
    (.noSpace, 74), (.readOnly, 74), (.io(5), 74), (.outcomeUnknown, 74),
    (.busy, 75), (.conflict, 75), (.pending(.random()), 75),
    (.newerFormat(found: 2, supported: 1), 76),
    (.wrongSecret, 77), (.denied, 77), (.refused, 77), (.noVault, 78),
    (.afterFork, 2), (.moved, 2), (.noAgent, 69), (.noCredentials, 69), (.memory, 74),
    (.unsupported, 77), (.incomplete, 77), (.closureThrew, 77), (.givenUp, 77), (.unfitSecret, 77), (.lastSlot, 77),
    (.otherVault, 77), (.unproven, 66), (.inUse, 77), (.unreachable, 75), (.loginRefused, 77), (.cancelled, 2),
  ]

  @Test(arguments: kinds)
  func `every kind of error leaves the process with its own status`(kind: StoreError.Kind, status: Int32) {
    let failure = Main.failure(StoreError(kind, "it happened", key: "k", place: "/p", cure: "do this"))
    #expect(failure?.status.rawValue == status)
    #expect(failure?.text == "coffer: 'k': it happened (/p)\n  try: do this")
    #expect(failure?.json.contains("\"code\":\(status),\"cure\":\"do this\",\"key\":\"k\",\"kind\":\"\(kind.word)\"") == true)
  }

  @Test
  func `words of others make no line of this program's`() {
    let forged = "no\ncoffer: note: all is well\r\n  try: this"
    let failure = Failure(StoreError(.busy, forged, key: forged, place: forged, cure: forged))
    #expect(
      failure.text.split(whereSeparator: \.isNewline).count == 2 && failure.json.split(whereSeparator: \.isNewline).count == 1)
  }

  @Test
  func `every kind has a word of its own in JSON`() {
    #expect(Swift.Set(StoreError.Kind.all.map(\.word)).count == StoreError.Kind.all.count)
    #expect(Self.kinds.map(\.0.word).sorted() == StoreError.Kind.all.map(\.word).sorted())
  }

  static let cures: [(StoreError.Remedy, String)] = [
    (.makeVault, "coffer init creates one; or give the path of another"),
    (.returnVault, "put it back, or restore a backup with coffer restore FILE; coffer init creates another vault"),
    (.acceptReplaced, "put the right vault back; if this one is right, accept it with coffer vault pin accept"),
    (
      .acceptOlder,
      "an older copy was put back: find the newer file; if the old one is right, accept it with coffer vault pin accept"
    ),
    (
      .acceptFork,
      "two copies were changed separately: find the other one; if this one is right, accept it with coffer vault pin accept"
    ),
    (.acceptAtPath, "check that the right vault is there, then accept it with coffer vault pin accept"),
    (.acceptUnpinned, "check that the vault is the newest one, then accept it with coffer vault pin accept"),
    (.acceptInvited, "ask a member of the vault for an invitation: coffer vault pin accept --invitation INVITATION"),
    (.expectVault, "ask a member of the vault for an invitation: coffer vault join PLACE INVITATION"),
    (.copyItems, "copy the items to a new vault with coffer export, or restore a backup"),
    (.leaveVault, "copy the items to a new vault with coffer export, and remove this one"),
    (.giveBackup, "make a backup of that vault with coffer backup, and give that"),
    (
      .giveBackupSecret,
      "give it with --passphrase-file or a similar option; the vault's current secret can come from COFFER_PASSPHRASE_FILE, COFFER_KEY_FILE or the terminal"
    ),
    (.replaceVault, "restore to another path, or use --replace, which keeps the old one beside it"),
    (
      .acceptOlderKey,
      "use a backup made after the key change, or also give the current vault's secret; to go back on purpose, --older-key"
    ),
    (.acceptOlderCopy, "use a copy made since; if you know this one, --older-key"),
    (.acceptMoved, "use the vault itself, at its own place; if it was moved here, accept it with coffer vault pin accept"),
    (.rebuild, "restore a backup; without one, coffer vault repair --rebuild keeps the records that open"),
    (.askRecipient, "ask for it again; coffer vault identity FILE prints it"),
    (.makeMirror, "coffer vault mirror FILE --vault URL creates it again, once the server can be reached"),
    (
      .remakeMirror,
      "find out who put it there; then move it away and run coffer vault mirror FILE --vault URL"
    ),
    (.openMirror, "--vault mirror:FILE, which reads it"),
    (.leaveMirror, "use the vault's own place, once the server can be reached"),
    (
      .readMirror,
      "check that it can be reached, then try again; --vault mirror:FILE reads the copy that coffer vault mirror FILE made"
    ),
    (
      .acceptRemote,
      "find out who put older files there; if it was on purpose, coffer vault sync REMOTE --accept. Nothing was changed"
    ),
    (
      .chooseKey,
      "a removed member may have made one of them: find out whose it is; coffer vault sync REMOTE --take-key MARK goes on with the right one. Nothing was changed"
    ),
    (.leaveWithholding, "the same command with --no-agent, and a secret of the vault"),
    (.startAgent, "coffer unlock starts one; or unlock the vault in this process"),
    (.unlockAgent, "coffer unlock, then try again"),
    (.relockAgent, "coffer lock, then unlock the vault that you expect"),
    (.restartAgent, "coffer agent stop, then coffer unlock"),
    (.replaceAgent, "coffer agent stop, then coffer unlock; or --no-agent"),
    (.endAgent, "coffer status --agent shows it, coffer agent stop stops it"),
    (.askAgent, "coffer status --agent"),
    (.leaveAgentOut, "--no-agent, or another COFFER_HOME"),
    (.distrustAgent, "find out who put it there; --no-agent does without it"),
    (.oneVersion, "use one version of coffer for both"),
  ]

  @Test
  func `an error of the library is cured by this program's commands, and so is its cause`() {
    #expect(
      Self.cures.map(\.0).sorted { $0.rawValue < $1.rawValue } == StoreError.Remedy.allCases.sorted { $0.rawValue < $1.rawValue })
    for (remedy, cure) in Self.cures {
      let cause = StoreError(.locked, "it was so", cure: "call this", remedy: remedy)
      let failure = Failure(StoreError(.busy, "it happened", place: "/p", cure: "call that", underlying: cause, remedy: remedy))
      #expect(failure.text == "coffer: it happened (/p): it was so; \(cure)\n  try: \(cure)")
    }
  }

  @Test
  func `errors of the parser are usage, help and version are no errors`() {
    #expect(Main.failure(ValidationError("no"))?.status == .usage)
    #expect(Main.failure(ExitCode(3))?.status == .usage)
    #expect(Main.failure(CleanExit.message("done")) == nil)
    #expect(Main.failure(SecretMemoryError.exhausted(bytes: 1))?.status == .io)
  }

  @Test
  func `coffer help exit-codes prints each status once`() throws {
    let answer = try Home().coffer("help exit-codes")
    #expect(answer.status == 0)
    let lines = answer.out.replacing(/\n {6,}(?=\D)/, with: " ").split(separator: "\n")
    for status in ExitStatus.allCases {
      #expect(lines.count { $0.split(separator: " ").joined(separator: " ") == "\(status.rawValue) \(status.meaning)" } == 1)
    }
    #expect(lines.count == ExitStatus.allCases.count + 1)
  }

  @Test
  func `an error in JSON has every field, null where it does not apply, and goes to standard error`() throws {
    let home = try Home()
    try home.transcript(
      "defaults read app theme --json",
      err: #"{"error":{"code":1,"cure":"coffer defaults read app shows its keys","key":"theme","kind":"notFound","#
        + #""message":"nothing is stored in domain 'app'","place":null}}"#,
      exit: 1)
  }
}
