import CofferTestSupport
import Foundation
import Testing

/// The scripts for packages, on a release of the debug program. `.ci/release --check` tests the whole.
@Suite(.serialized, .tags(.process), .wholeRun)
final class PackageTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-packages-\(UUID().uuidString)")
  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: folder) }

  @discardableResult
  private func sh(_ script: String) throws -> (status: Int32, text: String) {
    let process = Process(), output = Pipe()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-euo", "pipefail", "-c", script]
    process.currentDirectoryURL = folder
    // The program that makes the key of a day, and pip, of the system.
    process.environment = [
      "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "PIP_ROOT_USER_ACTION": "ignore", "HOME": folder.path(),
      "GNUPGHOME": folder.path() + "/keys",
      "RELEASING": Package.root.appending(path: ".ci/releasing").path(),
      "COFFER": Package.root.appending(path: ".build/debug/coffer").path(),
    ]
    (process.standardOutput, process.standardError) = (output, output)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  private func need(_ programs: String...) throws {
    for program in programs where try sh("command -v \(program)").status != 0 { try Test.skip(without: program) }
  }

  /// A release in the folder `release`, whose two programs are one, and the key `day@example.com`.
  private func makeRelease() throws {
    try need("gpg", "apt-ftparchive", "dpkg-deb", "strip", "pip3", "xz")
    let made = try sh(
      """
      mkdir release
      strip -o release/coffer "$COFFER"
      cp release/coffer release/coffer-portable
      for bill in coffer coffer-portable; do
        echo '{"metadata": {"timestamp": "2026-01-02T03:04:05Z"}, "components": []}' >release/$bill.cdx.json
      done
      echo '{"pins": []}' >release/Package.resolved
      echo pages >release/coffer-documentation.tar.xz
      "$RELEASING/sign" release
      """)
    #expect(made.status == 0, "\(made.text)")
    try makeKey("day")
  }

  private func makeKey(_ name: String) throws {
    let made = try sh(
      """
      mkdir -pm 700 keys
      gpg --batch --quiet --passphrase '' --quick-generate-key \(name)@example.com ed25519 sign 0
      gpg --list-keys --with-colons \(name)@example.com | awk -F: '/^fpr/ { print $10; exit }' >\(name).key
      """)
    #expect(made.status == 0, "\(made.text)")
  }

  @discardableResult
  private func answer(_ script: String) throws -> [String] {
    let done = try sh(script)
    #expect(done.status == 0, "\(script): \(done.text)")
    return done.text.split(separator: "\n").map(String.init)
  }

  @Test func `packages have the files of the release and no more, and are the same bytes again`() throws {
    try makeRelease()
    let first = try sh("$RELEASING/packages release --unsigned --to one --repository-key $(<day.key)")
    guard !first.text.contains("cannot be had from PyPI") else { try Test.skip("PyPI cannot be reached") }
    #expect(first.status == 0, "\(first.text)")

    // The links that install makes, and what a package has beside the manual.
    let listed = try answer("dpkg-deb -c one/coffer_*.deb | awk '!/^d/ {print substr($1, 1, 4), $2, $6}' | grep -v /man/")
    #expect(
      listed.sorted() == [
        "-rw- root/root ./usr/lib/systemd/user/coffer-agent.service",
        "-rw- root/root ./usr/share/bash-completion/completions/coffer",
        "-rw- root/root ./usr/share/doc/coffer/changelog.Debian.gz",
        "-rw- root/root ./usr/share/doc/coffer/coffer.cdx.json",
        "-rw- root/root ./usr/share/doc/coffer/copyright",
        "-rw- root/root ./usr/share/fish/vendor_completions.d/coffer.fish",
        "-rw- root/root ./usr/share/zsh/vendor-completions/_coffer",
        "-rwx root/root ./usr/bin/coffer",
        "l--- root/root ./usr/bin/age-plugin-coffer", "l--- root/root ./usr/bin/cargo-credential-coffer",
        "l--- root/root ./usr/bin/coffer-askpass",
        "l--- root/root ./usr/bin/docker-credential-coffer", "l--- root/root ./usr/bin/git-credential-coffer",
      ])
    let manuals = Set(try answer("dpkg-deb -c one/coffer_*.deb | grep -o 'man1/[^ ]*' | sort -u"))
    #expect(manuals.isSuperset(of: ["man1/coffer.1.gz", "man1/coffer-get.1.gz", "man1/git-credential-coffer.1.gz"]))
    // No script of a package runs on a user's machine, and no file asks before an upgrade.
    let control = Set(try answer("dpkg-deb --ctrl-tarfile one/coffer_*.deb | tar -t"))
    #expect(control.subtracting(["./"]) == ["./control", "./md5sums"])
    #expect(
      try answer("dpkg-deb -x one/coffer_*.deb unpacked && grep ^Exec unpacked/usr/lib/systemd/user/*")
        == ["ExecStart=/usr/bin/coffer agent run"])
    #expect(try answer("cmp unpacked/usr/bin/coffer release/coffer && unpacked/usr/bin/coffer --version") == ["coffer 0.1.0"])

    // A wheel and an image are read by others' programs.
    #expect(
      try answer("pip3 install -q --no-index --target wheel one/*.whl && ls wheel/bin && wheel/bin/coffer --version")
        == [
          "age-plugin-coffer", "cargo-credential-coffer", "coffer", "coffer-askpass", "docker-credential-coffer",
          "git-credential-coffer",
        ]
        + ["coffer 0.1.0"])
    let layers = try answer(
      """
      mkdir layout && tar -C layout -xf one/*-oci.tar && cd layout/blobs/sha256 && sha256sum * | awk '$1 != $2'
      for layer in *; do tar -tzf $layer 2>/dev/null || true; done | grep -v '/$'
      """)
    #expect(layers.contains("usr/bin/coffer") && layers.contains { $0.hasSuffix("/libc.so.6") }, "\(layers)")
    #expect(
      layers.allSatisfy {
        ["usr/bin/coffer", "etc/passwd"].contains($0) || $0.hasPrefix("usr/share/doc/coffer/") || $0.contains(".so")
      }, "\(layers)")

    // The archive's program installs itself, and what Python makes is the same again from other files and in another time.
    #expect(
      try answer("tar -xf one/*-$(uname -m).tar.xz && ls coffer-0.1.0") == ["coffer", "coffer-portable.cdx.json", "copyright"])
    try answer("HOME=$PWD/home coffer-0.1.0/coffer install --prefix $PWD/prefix --quiet")
    let again = try answer(
      """
      cp -r one elsewhere && mkdir two && umask 077
      export SOURCE_DATE_EPOCH=1767323045 ARCH=$(dpkg --print-architecture) TZ=Pacific/Kiritimati
      $RELEASING/wheel elsewhere 0.1.0 coffer_vault two && $RELEASING/image elsewhere 0.1.0 two/coffer-0.1.0-oci.tar
      for file in two/*; do cmp $file one/${file#two/}; done && echo same
      """)
    #expect(again == ["same"])
  }

  @Test func `what cannot be packaged leaves no folder of packages`() throws {
    try makeRelease()
    let wrong = try sh("$RELEASING/packages release --unsigned --to made --publish")
    #expect(wrong.status == 2 && wrong.text.contains("license, maintainer and address are undecided"))
    try answer("cp -r release changed && echo >>changed/Package.resolved")
    // A file without a hash, and a link, are refused like a change.
    try answer("cp -r release linked && ln -s /etc/hostname linked/link && cp -r release more && echo >more/other")
    let linked = try sh("$RELEASING/packages linked --unsigned --to made")
    #expect(linked.status == 2 && linked.text.contains("these are no files: link"), "\(linked.text)")
    let more = try sh("$RELEASING/packages more --unsigned --to made")
    #expect(more.status == 2 && more.text.contains("  other"), "\(more.text)")
    let changed = try sh("$RELEASING/packages changed --unsigned --to made")
    #expect(changed.status == 2 && changed.text.contains("the release is not what its hashes say"), "\(changed.text)")
    // Files of at most 20 MB, as on a disk that becomes full.
    let full = try sh("ulimit -f 20000 && trap '' XFSZ && $RELEASING/packages release --unsigned --to made")
    #expect(full.status != 0, "\(full.text)")
    // Killed when the first package is there.
    let killed = try sh(
      """
      set +e -m
      $RELEASING/packages release --unsigned --to made >said 2>&1 &
      until compgen -G 'made.*/made/*.deb' >found || ! kill -0 $! 2>said2; do :; done
      kill -KILL -- -$!
      wait $!
      echo "status $?"; cat said
      """)
    guard !killed.text.contains("cannot be had from PyPI") else { try Test.skip("PyPI cannot be reached") }
    #expect(killed.text.contains("status 137"), "\(killed.text)")
    #expect(try sh("test -e made").status == 1)
    try answer("mkdir made")
    #expect(try sh("$RELEASING/packages release --unsigned --to made").text.contains("made is there already"))
  }

  @Test func `a check ends before any build if the signature or a hash does not hold`() throws {
    try need("minisign")
    try answer(
      """
      mkdir release && echo program >release/coffer
      for key in ours other; do minisign -G -W -f -p $key.pub -s $key.key >said && chmod 600 $key.key; done
      $RELEASING/sign release && minisign -S -s ours.key -m release/SHA256SUMS >said
      """)
    func check(_ key: String) throws -> (status: Int32, text: String) {
      try sh("$RELEASING/check release --public-key \(key).pub --build together")
    }
    // A bill of materials is what this release lacks.
    let good = try check("ours")
    #expect(good.text.contains("signature: holds") && good.text.contains("cdx.json cannot be read"), "\(good.text)")
    let foreign = try check("other")
    #expect(foreign.status == 1 && foreign.text.contains("DOES NOT HOLD") && foreign.text.contains("nothing was built"))
    try answer("echo changed >>release/coffer")
    let changed = try check("ours")
    #expect(changed.status == 1 && changed.text.contains("hashes: DO NOT FIT") && changed.text.contains("nothing was built"))
  }

  /// apt with folders of its own, so that an ordinary user may run it, and with the checks that it makes without a setting.
  private static let apt = """
    apt() {
      rm -rf apt && mkdir -p apt/lists/partial apt/archives/partial got
      cat >apt.conf <<CONF
    Dir::Etc::sourcelist "$PWD/list"; Dir::Etc::sourceparts "-"; Dir::State "$PWD/apt"; Dir::State::status "/dev/null";
    Dir::State::Lists "$PWD/apt/lists"; Dir::Cache "$PWD/apt"; APT::Sandbox::User "root"; APT::Architecture "amd64";
    CONF
      echo "deb [signed-by=$PWD/key.gpg check-valid-until=yes check-date=yes] file:$PWD/$1 stable main" >list
      export APT_CONFIG=$PWD/apt.conf
      cd got && rm -f ./*.deb && apt-get -q update && apt-get -q download stone && sha256sum ./*.deb
    }

    """

  @Test func `apt refuses a repository with one flipped byte in any file, another key, or a date long past`() throws {
    try need("gpg", "apt-ftparchive", "apt-get", "dpkg-deb", "faketime")
    try makeKey("day")
    try makeKey("other")
    try answer(
      """
      mkdir -p stone/DEBIAN stone/usr/share/stone
      seq 100 >stone/usr/share/stone/numbers
      printf '%s\\n' 'Package: stone' 'Version: 1' 'Architecture: all' 'Maintainer: M <m@example.com>' 'Description: stone' >stone/DEBIAN/control
      dpkg-deb --root-owner-group --build stone stone_1_all.deb
      $RELEASING/repository good $(<day.key) stone_1_all.deb
      gpg --batch --export day@example.com >key.gpg
      """)
    let good = try sh(Self.apt + "apt good")
    #expect(good.status == 0 && good.text.contains("stone_1_all.deb"), "\(good.text)")
    let files = try answer("cd good && find -type f")
    #expect(files.count == 4)
    for file in files where !file.contains("arm64") {
      try answer("rm -rf bad && cp -r good bad")
      let path = folder.appending(path: "bad/\(file)")
      var bytes = try Data(contentsOf: path)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: path)
      let refused = try sh(Self.apt + "apt bad")
      #expect(refused.status != 0 && !refused.text.contains("./stone"), "\(file): \(refused.text)")
    }
    try answer("$RELEASING/repository foreign $(<other.key) stone_1_all.deb")
    let foreign = try sh(Self.apt + "apt foreign")
    #expect(foreign.status != 0 && foreign.text.contains("NO_PUBKEY"), "\(foreign.text)")
    let late = try sh(Self.apt + "export -f apt; faketime -f +401d bash -euc 'apt good'")
    #expect(late.status != 0 && late.text.contains("is expired") && !late.text.contains("./stone"), "\(late.text)")
  }
}
