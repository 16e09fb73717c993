import CofferTestSupport
import Foundation
import Testing

/// Declarations for dynamically loaded libraries must match their headers: a slip would be a crash.
@Suite(.tags(.process), .defaultRun) struct LibraryHeaderTests {
  private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources/CCofferLibraries").standardized.path()

  private func check(_ name: String, header: String, prefix: String, _ constants: [(String, String)], skipping package: String)
    throws
  {
    guard access("/usr/include/\(header)", R_OK) == 0 else { try Test.skip(without: package) }
    let loader = try String(contentsOfFile: "\(Self.sources)/\(name).c", encoding: .utf8)
    let pairs = loader.matches(of: #/X\((\w+), (\w+)\)/#).map { ($0.1, $0.2) }
    #expect(pairs.count > 6)
    let assertions = pairs.map { field, symbol in
      "_Static_assert(__builtin_types_compatible_p(__typeof__(*((coffer_\(name) *)0)->\(field)), __typeof__(\(symbol))) || LOOSE_\(field), \"\(symbol)\");"
    }
    let loose = pairs.map { "#ifndef LOOSE_\($0.0)\n#define LOOSE_\($0.0) 0\n#endif" }
    let code =
      ["#include <\(header)>", "#include <stdint.h>", prefix, "#include \"\(name).h\""] + loose + assertions
      + constants.map { "_Static_assert(\($0.0) == \($0.1), \"\($0.1)\");" }
    let folder = try TestFolder("headers")
    let file = "\(folder.path)/check.c"
    try Data(code.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let compilers = ["clang", "cc"].flatMap { name in folders.map { "\($0)/\(name)" } }
    for compiler in compilers where access(compiler, X_OK) == 0 {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: compiler)
      process.arguments = [
        "-fsyntax-only", "-Wall", "-Werror", "-Wno-nullability-extension", "-Wno-unknown-warning-option", "-I",
        Self.sources + "/include",
        file,
      ]
      let output = Pipe()
      process.standardError = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "\(text)")
      return
    }
    try Test.skip(without: "a C compiler")
  }

  @Test func `what is declared of sd-bus is what its header says`() throws {
    try check(
      "sdbus", header: "systemd/sd-bus.h",
      prefix: "#define LOOSE_call 1\n#define LOOSE_error_free 1\n#define LOOSE_new_method_error 1",
      [
        ("COFFER_SDBUS_REPLACE_EXISTING", "SD_BUS_NAME_REPLACE_EXISTING"),
        ("COFFER_SDBUS_ALLOW_REPLACEMENT", "SD_BUS_NAME_ALLOW_REPLACEMENT"),
        ("COFFER_SDBUS_METHOD_CALL", "SD_BUS_MESSAGE_METHOD_CALL"), ("COFFER_SDBUS_SIGNAL", "SD_BUS_MESSAGE_SIGNAL"),
        // An error type of our own name.
        (
          "__builtin_types_compatible_p(__typeof__(sd_bus_call), int(sd_bus *, sd_bus_message *, uint64_t, sd_bus_error *, sd_bus_message **))",
          "1"
        ),
        ("__builtin_types_compatible_p(__typeof__(sd_bus_error_free), void(sd_bus_error *))", "1"),
        (
          "__builtin_types_compatible_p(__typeof__(sd_bus_message_new_method_error), int(sd_bus_message *, sd_bus_message **, const sd_bus_error *))",
          "1"
        ),
        ("sizeof(coffer_sdbus_error)", "sizeof(sd_bus_error)"),
        ("__builtin_offsetof(coffer_sdbus_error, message)", "__builtin_offsetof(sd_bus_error, message)"),
      ], skipping: "libsystemd-dev")
  }

  @Test func `what is declared of libgcrypt is what its header says`() throws {
    try check(
      "libgcrypt", header: "gcrypt.h", prefix: "#define LOOSE_mpi_scan 1\n#define LOOSE_mpi_print 1",
      [
        // A format, which is an enumeration there.
        (
          "__builtin_types_compatible_p(__typeof__(gcry_mpi_scan), unsigned(gcry_mpi_t *, enum gcry_mpi_format, const void *, size_t, size_t *))",
          "1"
        ),
        (
          "__builtin_types_compatible_p(__typeof__(gcry_mpi_print), unsigned(enum gcry_mpi_format, unsigned char *, size_t, size_t *, gcry_mpi_t))",
          "1"
        ),
        ("COFFER_GCRYPT_UNSIGNED", "GCRYMPI_FMT_USG"), ("COFFER_GCRYPT_AES128", "GCRY_CIPHER_AES"),
        ("COFFER_GCRYPT_CBC", "GCRY_CIPHER_MODE_CBC"), ("COFFER_GCRYPT_SECURE", "GCRY_CIPHER_SECURE"),
        ("COFFER_GCRYPT_SHA256", "GCRY_MD_SHA256"), ("COFFER_GCRYPT_SHA384", "GCRY_MD_SHA384"),
        ("COFFER_GCRYPT_SHA512", "GCRY_MD_SHA512"),
        ("38", "GCRYCTL_INITIALIZATION_FINISHED"), ("39", "GCRYCTL_INITIALIZATION_FINISHED_P"),
      ], skipping: "libgcrypt20-dev")
  }

  @Test func `what is declared of libcurl is what its header says`() throws {
    let options = [
      "WRITEDATA", "URL", "POSTFIELDS", "USERAGENT", "HTTPHEADER", "NOPROGRESS", "FOLLOWLOCATION", "XFERINFODATA",
      "POSTFIELDSIZE", "NOSIGNAL",
      "TIMEOUT_MS", "CONNECTTIMEOUT_MS", "PROTOCOLS", "NOPROXY", "WRITEFUNCTION", "XFERINFOFUNCTION",
    ].map { ("COFFER_CURLOPT_\($0)", "CURLOPT_\($0)") }
    let others = [
      "CURL_GLOBAL_DEFAULT", "CURLPROTO_HTTP", "CURLPROTO_HTTPS", "CURLINFO_RESPONSE_CODE", "CURLE_WRITE_ERROR",
      "CURLE_OPERATION_TIMEDOUT",
      "CURLE_ABORTED_BY_CALLBACK", "CURLE_PEER_FAILED_VERIFICATION",
    ].map { ("COFFER_\($0)", $0) }
    try check(
      "libcurl", header: "x86_64-linux-gnu/curl/curl.h",
      prefix: """
        #define CURL_DISABLE_TYPECHECK 1
        #pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        #undef curl_easy_setopt
        #undef curl_easy_getinfo
        """
          // Enumerations, and types that are opaque here.
          + ["global_init", "easy_perform", "easy_strerror", "slist_append", "slist_free_all"].map { "\n#define LOOSE_\($0) 1" }
          .joined(),
      options + others + [
        ("__builtin_types_compatible_p(__typeof__(curl_easy_perform), CURLcode(CURL *))", "1"),
        ("__builtin_types_compatible_p(__typeof__(curl_easy_setopt), CURLcode(CURL *, CURLoption, ...))", "1"),
        ("__builtin_types_compatible_p(__typeof__(curl_easy_getinfo), CURLcode(CURL *, CURLINFO, ...))", "1"),
        (
          "__builtin_types_compatible_p(__typeof__(curl_slist_append), struct curl_slist *(struct curl_slist *, const char *))",
          "1"
        ),
        ("__builtin_types_compatible_p(curl_write_callback, __typeof__(size_t(*)(char *, size_t, size_t, void *)))", "1"),
        ("sizeof(curl_off_t)", "sizeof(int64_t)"),
      ], skipping: "libcurl4-openssl-dev")
  }

  @Test func `what is declared of libpq is what its header says`() throws {
    try check(
      "libpq", header: "postgresql/libpq-fe.h",
      prefix: "#define LOOSE_parse 1\n#define LOOSE_options 1\n#define LOOSE_free_options 1\n#define LOOSE_notifies 1",
      [
        // Structures of our own names.
        (
          "__builtin_types_compatible_p(__typeof__(PQconninfoParse), PQconninfoOption *(const char *, char **))",
          "1"
        ),
        ("__builtin_types_compatible_p(__typeof__(PQconninfo), PQconninfoOption *(PGconn *))", "1"),
        ("__builtin_types_compatible_p(__typeof__(PQconninfoFree), void(PQconninfoOption *))", "1"),
        ("__builtin_types_compatible_p(__typeof__(PQnotifies), PGnotify *(PGconn *))", "1"),
        ("sizeof(coffer_libpq_option)", "sizeof(PQconninfoOption)"),
        ("__builtin_offsetof(coffer_libpq_option, val)", "__builtin_offsetof(PQconninfoOption, val)"),
        ("__builtin_offsetof(coffer_libpq_option, dispchar)", "__builtin_offsetof(PQconninfoOption, dispchar)"),
        ("sizeof(coffer_libpq_notify)", "sizeof(PGnotify)"),
        ("COFFER_LIBPQ_CONNECTION_OK", "CONNECTION_OK"), ("COFFER_LIBPQ_POLLING_FAILED", "PGRES_POLLING_FAILED"),
        ("COFFER_LIBPQ_POLLING_READING", "PGRES_POLLING_READING"), ("COFFER_LIBPQ_POLLING_WRITING", "PGRES_POLLING_WRITING"),
        ("COFFER_LIBPQ_POLLING_OK", "PGRES_POLLING_OK"), ("COFFER_LIBPQ_COMMAND_OK", "PGRES_COMMAND_OK"),
        ("COFFER_LIBPQ_TUPLES_OK", "PGRES_TUPLES_OK"), ("COFFER_LIBPQ_FATAL_ERROR", "PGRES_FATAL_ERROR"),
        ("COFFER_LIBPQ_PIPELINE_SYNC", "PGRES_PIPELINE_SYNC"),
        ("COFFER_LIBPQ_PIPELINE_ABORTED", "PGRES_PIPELINE_ABORTED"), ("COFFER_LIBPQ_SQLSTATE", "'C'"),
        ("COFFER_LIBPQ_SEVERITY", "'V'"),
      ], skipping: "libpq-dev")
  }
}
