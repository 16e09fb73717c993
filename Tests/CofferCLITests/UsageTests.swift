import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct UsageTests {
  static let secretsOnTheLine = [
    "set token hunter2 --secret", "set --secret token hunter2", "vault set github ada hunter2",
    "vault set github ada --value hunter2", "vault set github ada --value=hunter2", "vault get github --passphrase hunter2",
    "init --passphrase=hunter2", "get token ada hunter2", "vault get github ada hunter2", "set token --password hunter2",
    "get token --tokenn=hunter2", "vault set github ada --generate=hunter2", "vault list github hunter2",
  ]

  @Test(arguments: secretsOnTheLine)
  func `a secret on the command line is refused and never repeated`(line: String) throws {
    let home = try Home()
    for suffix in ["", " --json"] {
      let answer = try home.coffer(line + suffix)
      #expect(answer.status == 64)
      #expect(!answer.err.contains("hunter2") && answer.out.isEmpty, "\(answer.err)")
    }
    #expect(!home.exists("data") && !home.exists("config"))
  }

  @Test
  func `the refusal of a secret says why, and how else`() throws {
    try Home().transcript(
      "vault set github ada hunter2",
      err:
        "a secret is never one, because every process and the shell's history would see it\n  try: standard input, --file PATH",
      exit: 64)
  }

  @Test(arguments: [
    "vault set github ada --passphrase-file - --stdin", "vault set github ada --passphrase-fd 0",
    "set token --secret --passphrase-file -", "init --passphrase-file - --new-passphrase-file -",
    "vault set github ada --passphrase-file - --file -", "vault set github ada --passphrase-file - --fd 0",
  ])
  func `two things from standard input in one command are refused before either is read`(line: String) throws {
    try Home().transcript(line, in: "hunter2\n", err: "cannot both come from standard input", exit: 64)
  }

  @Test(arguments: [
    "set k v --plain --secret", "set k --secret --type int", "set k v --plain --file x", "set a b c --plain",
    "vault set a --file x --generate", "vault set a --length 20", "vault set a --generate --length 3",
    "vault get a --passphrase-fd 3 --passphrase-file x", "vault set a --attribute nonsense",
    "vault set a --attribute coffer.ends-with-session=true", "vault set a --attribute k=1 --attribute k=2",
    "vault set a --expires yesterday", "vault set a --expires 2001-01-01", "defaults write app key", "defaults write app",
    "set k v --plain --bogus", "--home",
  ])
  func `options that exclude each other are refused`(line: String) throws {
    let answer = try Home().coffer(line)
    #expect(answer.status == 64, "\(answer.err)")
    #expect(answer.err.hasPrefix("coffer: ") && answer.err.contains("\n  try: "))
  }

  @Test
  func `a word that an option does not take gets the list of those that it takes`() throws {
    let home = try Home()
    try home.transcript("import --from bogus x", err: "--from does not take 'bogus'\n  try: json, env, coffer", exit: 64)
    try home.transcript(
      "vault list --sort foo", err: "--sort does not take 'foo'\n  try: name, modified or expires; coffer list --help\n",
      exit: 64)
  }

  @Test(arguments: [
    ("vault list --expiring", "--expiring needs a value\n  try: 30d, 12h, 2026-12-31 or never; coffer list --help\n"),
    ("vault list --expiring --json", "--expiring needs a value"), ("get a --vault", "--vault needs a value"),
    ("--vault", "--vault needs a value\n  try: coffer --help\n"),
    ("set a b --plian", "there is no option '--plian'\n  try: did you mean --plain? coffer set --help\n"),
    ("get a --vualt x", "there is no option '--vualt'\n  try: did you mean --vault? coffer get --help\n"),
    ("get a --tokenn=hunter2", "there is no option '--tokenn'\n  try: coffer get --help\n"),
    ("get a -f x", "there is no option '-f'\n  try: did you mean --field? coffer get --help\n"),
    ("rm a -f", "there is no option '-f'\n  try: did you mean --yes?"),
    ("set a --totp", "there is no option '--totp'\n  try: did you mean coffer otp NAME --set? coffer set --help\n"),
    ("set a --user app", "there is no option '--user'\n  try: --attribute user=NAME; coffer set --help\n"),
    ("backup", "FILE is missing\n  try: coffer backup FILE\n"),
    ("revert a b", "the last word is not a revision number\n  try: coffer history a\n"),
    ("history a --reveal", "there is no option '--reveal'\n  try: did you mean coffer get NAME --revision N? coffer history"),
    ("list --search x", "did you mean coffer find TEXT?"), ("delete a --folder x", "did you mean coffer find folder=NAME?"),
    ("backup --check x", "did you mean coffer vault verify --vault FILE?"),
    ("login", "HOST is missing\n  try: coffer login HOST for a server's token; coffer unlock opens the vault\n"),
    ("inject x", "coffer inject reads standard input, or the file of -i\n  try: coffer inject -i FILE\n"),
    ("generate hunter2", "coffer generate prints a password and stores nothing\n  try: coffer set NAME --generate\n"),
  ])
  func `an option that is misspelled or has no value, and a word too few or too many, get an error that says how`(
    line: String, error: String
  ) throws { try Home().transcript(line, err: error.hasSuffix("\n") ? "coffer: \(error)" : error, exit: 64) }

  @Test
  func `a backup that is no file may have been meant as a deleted item`() throws {
    try Home().transcript(
      "restore bank/ann", err: "the file does not exist (bank/ann)\n  try: check the path; coffer undelete bank/ann brings",
      exit: 74)
  }

  @Test
  func `an option of every command may stand before a family`() throws {
    let home = try Home()
    let help = try home.coffer("agent --help").out
    #expect(try home.coffer("--vault X agent").out == help && home.coffer("agent --quiet --vault X").out == help)
  }

  @Test
  func `the hint for a missing key names the domain that was given`() throws {
    let home = try Home.withVault()
    try home.transcript("get size --domain app", err: "coffer list --domain app shows its keys", exit: 1)
    try home.transcript("get size", err: "coffer list shows all items, coffer set stores a new one", exit: 1)
    try Home().transcript(
      "get size --domain app", err: "nothing is stored in domain 'app'\n  try: there is no vault either: coffer init", exit: 1)
  }

  @Test
  func `names that could forge a line are refused`() throws {
    let home = try Home()
    try home.transcript("list --domain ''", err: "of 1 to 200 bytes", exit: 64)
    try home.transcript("get k --domain ../evil", err: "coffer: ", exit: 64)
    try home.transcript("defaults write ../evil k v", err: "coffer: ", exit: 64)
    try home.transcript("set 'a\nb' v --plain", err: "control character", exit: 64)
    #expect(!home.exists("evil.plist"))
  }
}
