import com.github.alexdlaird.exception.JavaNgrokHTTPException;
import com.github.alexdlaird.ngrok.NgrokClient;
import com.github.alexdlaird.ngrok.agent.NgrokAgent;
import com.github.alexdlaird.ngrok.conf.JavaNgrokConfig;
import com.github.alexdlaird.ngrok.protocol.CreateTunnel;
import com.github.alexdlaird.ngrok.protocol.Proto;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;

/** Does with java-ngrok what its users do, and prints each step. Arguments: program, configuration, port, authtoken. */
public class DriveJavaNgrok {
  public static void main(String[] args) throws Exception {
    var config = new JavaNgrokConfig.Builder()
        .withNgrokPath(Path.of(args[0]))
        .withConfigPath(Path.of(args[1]))
        .withAuthToken(args[3])
        .build();
    var client = new NgrokClient.Builder().withJavaNgrokConfig(config).build();
    try {
      step("version", client.getVersion().getNgrokVersion().matches("\\d+\\.\\d+\\.\\d+"));
      var web = client.connect(new CreateTunnel.Builder()
          .withName("web")
          .withAddr(Integer.parseInt(args[2]))
          .withSchemes(List.of("http"))
          .build());
      step("connect", web.getPublicUrl().startsWith("http://"));
      step("visit", visit(web.getPublicUrl()).equals("hello"));
      var tcp = client.connect(
          new CreateTunnel.Builder().withProto(Proto.TCP).withAddr(Integer.parseInt(args[2])).build());
      step("tcp", tcp.getPublicUrl().startsWith("tcp://"));
      step("list", client.getTunnels().size() == 2);
      client.refreshMetrics(web);
      step("metrics", web.getMetrics() != null);
      var agent = new NgrokAgent(client.getNgrokProcess());
      step("status", agent.getAgentStatus().getBody().getStatus().equals("online"));
      var requests = agent.getRequests().getBody().getRequests();
      step("requests", requests.size() == 1);
      agent.replayRequest(requests.get(0).getId());
      step("replay", agent.getRequests().getBody().getRequests().size() == 2);
      agent.deleteRequests();
      step("clear", agent.getRequests().getBody().getRequests().isEmpty());
      try {
        client.connect(new CreateTunnel.Builder().withName("web").withAddr("nonsense nonsense").build());
        step("reject", false);
      } catch (JavaNgrokHTTPException error) {
        step("reject", error.getStatusCode() == 400);
      }
      client.disconnect(web.getPublicUrl());
      step("disconnect", client.getTunnels().size() == 1);
    } finally {
      client.kill();
    }
    step("kill", endsWithin(client, 5000));
  }

  static boolean endsWithin(NgrokClient client, int milliseconds) throws InterruptedException {
    for (var waited = 0; client.getNgrokProcess().isRunning() && waited < milliseconds; waited += 50) Thread.sleep(50);
    return !client.getNgrokProcess().isRunning();
  }

  /** Names under localhost are not resolved by every system, so the address is this machine and the name a header. */
  static String visit(String url) throws Exception {
    var address = URI.create(url);
    System.setProperty("jdk.httpclient.allowRestrictedHeaders", "host");
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + System.getenv("HTTP_PORT") + "/"))
        .header("Host", address.getAuthority())
        .build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  static void step(String name, boolean isGood) {
    if (!isGood) throw new IllegalStateException(name + " failed");
    System.out.println(name);
  }
}
