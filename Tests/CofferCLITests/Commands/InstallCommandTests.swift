import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct InstallCommandTests {
  @Test
  func `the program and its names are put in place, again and again, and work from there`() throws {
    let home = try Home.withVault()
    let bin = home.path + "/prefix/bin"
    let names = ["coffer", "docker-credential-coffer", "git-credential-coffer"]
    let first = try home.coffer("install --prefix \(home.path)/prefix")
    #expect(
      first.status == 0
        && first.out == "copied  \(bin)/coffer\nlinked  \(bin)/docker-credential-coffer\nlinked  \(bin)/git-credential-coffer\n")
    #expect(first.err.contains("is not on PATH: export PATH=\(bin):$PATH"))
    #expect(home.mode("prefix/bin/coffer") == 0o755 && home.mode("prefix/bin") == 0o755)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bin).sorted() == names)
    home.environment["PATH"] = "\(bin):/usr/bin:/bin"
    #expect(try home.program(["coffer", "--version"])?.out == "coffer 0.1.0\n")
    #expect(try home.program(["git-credential-coffer", "capability"])?.out.hasPrefix("version 0\n") == true)
    #expect(try home.program(["docker-credential-coffer", "list"])?.out == "{}\n")
    let again = try #require(try home.program(["coffer", "install", "--prefix", home.path + "/prefix", "--json"]))
    let json = try #require(JSONSerialization.jsonObject(with: Data(again.out.utf8)) as? [String: Any])
    #expect(json["onPath"] as? Bool == true && json["program"] as? String == bin + "/coffer")
    let kept = try #require(try home.program(["coffer", "install", "-q", "--prefix", home.path + "/prefix"]))
    #expect(kept.out.hasPrefix("kept    \(bin)/coffer\n") && kept.err.isEmpty)
  }

  @Test
  func `what somebody else put there is left alone`() throws {
    let home = try Home()
    _ = try home.file("p/bin/git-credential-coffer", "#!/bin/sh\n")
    try home.transcript("install --prefix \(home.path)/p", err: "something else has the name already", exit: 73)
    #expect(try !home.exists("p/bin/coffer") && home.content("p/bin/git-credential-coffer") == "#!/bin/sh\n")
    #expect(try home.coffer("install --force --prefix \(home.path)/p").status == 0)
    home.environment["HOME"] = home.path
    #expect(try home.coffer("install -q").out.hasPrefix("copied  \(home.path)/.local/bin/coffer\n"))
  }
}
