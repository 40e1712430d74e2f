import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/** A service that says which resource several Java programs would take its path for. */
public class Readers {
  public static void main(String[] args) throws Exception {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 128);
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.createContext("/", exchange -> {
      URI uri = exchange.getRequestURI();
      byte[] body = json(readings(uri)).getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, body.length);
      try (var out = exchange.getResponseBody()) {
        out.write(body);
      }
    });
    server.start();
    System.out.println(server.getAddress().getPort());
  }

  static Map<String, List<String>> readings(URI uri) {
    String raw = uri.getRawPath();
    var readings = new LinkedHashMap<String, List<String>>();
    readings.put("java: not decoded", split(raw));
    readings.put("java: URI.getPath", split(uri.getPath()));
    readings.put("java: URI.normalize", split(uri.normalize().getPath()));
    // As Tomcat does: parameters go, escapes are decoded, then dots and empty segments are resolved.
    readings.put("java: servlet", split(normal(decoded(withoutParameters(raw)))));
    readings.put("java: servlet, backslashes", split(normal(decoded(withoutParameters(raw)).replace('\\', '/'))));
    // Those that decode first take an escaped semicolon for one.
    readings.put("java: decoded, then parameters", split(normal(withoutParameters(decoded(raw)))));
    readings.put("java: servlet, decoded twice", split(normal(withoutParameters(decoded(decoded(withoutParameters(raw)))))));
    // A filter and a service that disagree on parameters: dots are resolved before the parameters go.
    readings.put("java: dots, then parameters", split(normal(withoutParameters(normal(decoded(raw))))));
    return readings;
  }

  static String withoutParameters(String path) {
    return path.replaceAll(";[^/]*", "");
  }

  static String decoded(String path) {
    var bytes = new ByteArrayOutputStream();
    byte[] in = path.getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < in.length; i++) {
      int high = i + 2 < in.length ? Character.digit(in[i + 1], 16) : -1;
      int low = i + 2 < in.length ? Character.digit(in[i + 2], 16) : -1;
      if (in[i] == '%' && high >= 0 && low >= 0) {
        bytes.write(high << 4 | low);
        i += 2;
      } else bytes.write(in[i]);
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  static String normal(String path) {
    var kept = new ArrayList<String>();
    for (String segment : path.split("/")) {
      if (segment.equals("..")) {
        if (!kept.isEmpty()) kept.remove(kept.size() - 1);
      } else if (!segment.isEmpty() && !segment.equals(".")) kept.add(segment);
    }
    return "/" + String.join("/", kept);
  }

  static List<String> split(String path) {
    return List.of(path.substring(Math.min(1, path.length())).split("/", -1));
  }

  static String json(Map<String, List<String>> readings) {
    var text = new StringBuilder("{");
    readings.forEach((name, segments) -> {
      text.append(text.length() == 1 ? "" : ",").append(quoted(name)).append(":[");
      for (int i = 0; i < segments.size(); i++) text.append(i == 0 ? "" : ",").append(quoted(segments.get(i)));
      text.append("]");
    });
    return text.append("}").toString();
  }

  static String quoted(String text) {
    var out = new StringBuilder("\"");
    for (char c : text.toCharArray())
      if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    return out.append("\"").toString();
  }
}
