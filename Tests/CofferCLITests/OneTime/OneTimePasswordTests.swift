import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite struct OneTimePasswordTests {
  private static let seed = "1234567890"

  private static func base32(_ text: String) -> String {
    var (bits, held, out): (UInt32, Int, String) = (0, 0, "")
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    for byte in text.utf8 {
      (bits, held) = (bits << 8 | UInt32(byte), held + 8)
      while held >= 5 {
        held -= 5
        out.append(digits[Int(bits >> UInt32(held) & 31)])
      }
    }
    return held > 0 ? out + String(digits[Int(bits << UInt32(5 - held) & 31)]) : out
  }

  private static func secret(_ text: String) throws -> SecretBytes { try Home.secret(text) }

  private func code(_ uri: String, at seconds: Double) throws -> (String, Int) {
    let text = try Self.secret(uri)
    let password = try OneTimeURI.read(text)
    let code = try password.code(at: Date(timeIntervalSince1970: seconds))
    return (code.text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, code.secondsLeft)
  }

  @Test(arguments: [
    (59.0, "94287082", "46119246", "90693936"), (1_111_111_109, "07081804", "68084774", "25091201"),
    (1_111_111_111, "14050471", "67062674", "99943326"), (1_234_567_890, "89005924", "91819424", "93441116"),
    (2_000_000_000, "69279037", "90698825", "38618901"), (20_000_000_000, "65353130", "77737706", "47863826"),
  ])
  func `the codes are those of RFC 6238, appendix B`(time: Double, sha1: String, sha256: String, sha512: String) throws {
    for (algorithm, count, expected) in [("SHA1", 20, sha1), ("SHA256", 32, sha256), ("SHA512", 64, sha512)] {
      let secret = Self.base32(String(String(repeating: Self.seed, count: 7).prefix(count)))
      let uri = "otpauth://totp/A:b?secret=\(secret)&algorithm=\(algorithm)&digits=8"
      #expect(try code(uri, at: time).0 == expected, "\(algorithm)")
      #expect(try code(uri.replacing("digits=8", with: "digits=6"), at: time).0 == String(expected.suffix(6)))
    }
  }

  @Test func `a code is good until its period is over, and follows the period`() throws {
    let uri = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=8"
    #expect(try code(uri, at: 59.9) == ("94287082", 1) && code(uri, at: 30) == ("94287082", 30))
    #expect(try code(uri, at: 60).0 != "94287082")
    #expect(try code(uri + "&period=60", at: 119) == ("94287082", 1))
    #expect(kind { _ = try code(uri, at: -1) } == .clockBehind)
  }

  @Test(arguments: [
    "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "gezd gnbv gy3t qojq gezd gnbv gy3t qojq", " GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV-GY3T-QOJQ\n",
    "otpauth://totp/A%20B:c?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=A%20B&image=x",
    "OTPAUTH://TOTP/x?SECRET=gezdgnbvgy3tqojqgezdgnbvgy3tqojq&period=30&Digits=6&algorithm=sha1#f",
    "otpauth://totp/?algorithm=SHA-1&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    "otpauth://totp?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    "otpauth://totp/x?secret=%47EZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
  ])
  func `a secret is read in every spelling`(text: String) throws { #expect(try code(text, at: 59).0 == "287082") }

  @Test(arguments: [
    ("MY", true), ("MY======", true), ("mz xq", true), ("MZXW6===", true), ("MZXW6YTBOI======", true), ("M", false),
    ("MZX", false), ("MZXW6Y", false), ("MY=====", false), ("MY=======", false), ("=MY", false), ("M=Y", false),
    ("MZXW6YTB========", false),
    ("M1", false), ("M8", false), ("M0", false), ("MÜ", false), ("", false), (" - ", false), ("========", false),
    ("MY\u{0}", true),
  ])
  func `Base32 is taken with padding or without, and only where it spells bytes`(text: String, isRead: Bool) throws {
    let isSpelled = try Array(text.utf8).withUnsafeBytes { raw -> Bool in
      let bytes = try SecretBase32.decode(raw)
      return bytes != nil
    }
    #expect(isSpelled == isRead, "\(text)")
  }

  @Test(arguments: [
    "digits=99", "digits=5", "digits=9", "digits=0", "digits=-6", "digits=", "digits", "digits=6&digits=6", "digits=00000006",
    "digits=99999999999999999999", "period=0", "period=86401", "period=-30", "period=1e3", "period=30&period=30",
    "period=18446744073709551616", "algorithm=MD5", "algorithm=", "algorithm=SHA1&algorithm=SHA256", "algorithm=%53%48",
    "secret=GEZDGNBV", "digits=%3", "digits=%zz", "digits=%",
  ])
  func `what the standard does not have is refused`(parameter: String) throws {
    #expect(kind { _ = try code("otpauth://totp/x?secret=GEZDGNBV&\(parameter)", at: 1) } == .damaged, "\(parameter)")
  }

  @Test(arguments: [
    "", " ", "otpauth://", "otpauth://totp", "otpauth://totp/x", "otpauth://totp/x?", "otpauth://totp/x?secret=",
    "otpauth://totp/x?secret",
    "otpauth://totp/x?issuer=y", "otpauth://totpp/x?secret=GEZDGNBV", "otpauth://steam/x?secret=GEZDGNBV",
    "https://a.example/?secret=GEZDGNBV",
    "otpauth:totp/x?secret=GEZDGNBV", "otpauth-migration://offline?data=x", "hunter2!", "\u{FF}",
  ])
  func `what is no URI of the kind is refused`(text: String) throws {
    #expect(kind { _ = try code(text, at: 1) } == .damaged, "\(text)")
  }

  @Test func `codes that follow a counter, or are no digits, are refused by what they are, and what is endless at once`() throws {
    #expect(kind { _ = try code("otpauth://hotp/x?secret=GEZDGNBV&counter=1", at: 1) } == .unsupported)
    #expect(kind { _ = try code("otpauth://totp/x?secret=GEZDGNBV&encoder=steam", at: 1) } == .unsupported)
    let long = "otpauth://totp/x?secret=" + String(repeating: "A", count: 4072)
    #expect(try code(long, at: 1).0.count == 6 && long.utf8.count == 4096)
    #expect(kind { _ = try code(long + "A", at: 1) } == .damaged)
  }
}
