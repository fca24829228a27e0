import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Drives java.net.http over HTTP/2 through a tunnel; prints a line for each step. */
public class DriveHttpClient {
  static String base;

  static void check(String step, boolean ok, Object detail) {
    if (!ok) throw new IllegalStateException(step + ": " + detail);
    System.out.println(step);
  }

  static HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(URI.create(base + path));
  }

  static SSLContext trusting(String file) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (InputStream pem = Files.newInputStream(Path.of(file))) {
      store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  public static void main(String[] args) throws Exception {
    base = args[0];
    HttpClient client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(trusting(args[1])).build();

    HttpResponse<String> hello = client.send(to("/hello").build(), BodyHandlers.ofString());
    check("GET", hello.version() == HttpClient.Version.HTTP_2 && hello.body().equals("hello"), hello);

    // The client refuses more than the server allows at a time, instead of waiting.
    List<CompletableFuture<HttpResponse<String>>> asked =
        Stream.generate(() -> client.sendAsync(to("/hello").build(), BodyHandlers.ofString())).limit(90).toList();
    boolean all = true;
    for (CompletableFuture<HttpResponse<String>> each : asked) all &= each.get().body().equals("hello");
    check("90 requests at once", all, "");

    byte[] sent = "0123456789abcdef".repeat(65_536).getBytes();
    HttpResponse<byte[]> echoed =
        client.send(to("/echo").POST(BodyPublishers.ofByteArray(sent)).build(), BodyHandlers.ofByteArray());
    check("POST of 1 MiB with a length", Arrays.equals(echoed.body(), sent), echoed);
    echoed =
        client.send(
            to("/echo").POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(sent))).build(),
            BodyHandlers.ofByteArray());
    check("POST of 1 MiB without a length", Arrays.equals(echoed.body(), sent), echoed);

    HttpResponse<byte[]> large = client.send(to("/large").build(), BodyHandlers.ofByteArray());
    check("GET of 10 MiB", large.body().length == 10 << 20, large);

    HttpResponse<byte[]> head =
        client.send(to("/large").method("HEAD", BodyPublishers.noBody()).build(), BodyHandlers.ofByteArray());
    check("HEAD", head.headers().firstValueAsLong("content-length").orElse(0) == 10 << 20 && head.body().length == 0, head);

    HttpRequest.Builder many = to("/fields");
    for (int at = 0; at < 60; at++) many.header("x-field-" + at, "v".repeat(100));
    HttpResponse<String> fields = client.send(many.build(), BodyHandlers.ofString());
    check("60 fields both ways", fields.headers().firstValue("x-seen").orElse("").equals("60"), fields.headers());

    HttpResponse<InputStream> begun = client.send(to("/large").build(), BodyHandlers.ofInputStream());
    check("begins a download", begun.body().readNBytes(100_000).length == 100_000, begun);
    begun.body().close();
    hello = client.send(to("/hello").build(), BodyHandlers.ofString());
    check("requests after a cancelled download", hello.body().equals("hello"), hello);
  }
}
