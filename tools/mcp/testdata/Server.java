import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.*;
import java.util.List;
import java.util.Map;

/** A server with the Java SDK, on standard input and output. */
public class Server {
    static final String PIXEL =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

    public static void main(String[] args) throws Exception {
        var none = Map.<String, Object>of("type", "object", "properties", Map.of());
        var integer = Map.of("type", "integer");
        McpServer.sync(new StdioServerTransportProvider(McpJsonDefaults.getMapper()))
                .serverInfo("java", "1")
                .capabilities(ServerCapabilities.builder().tools(true).resources(false, false).prompts(false).build())
                .toolCall(
                        tool("add", "Adds two numbers.", Map.of(
                                "type", "object", "properties", Map.of("a", integer, "b", integer), "required", List.of("a", "b"))),
                        (exchange, call) -> text("" + (number(call, "a") + number(call, "b"))))
                .toolCall(tool("picture", "Returns a pixel.", none),
                        (exchange, call) -> CallToolResult.builder().addContent(new ImageContent(null, PIXEL, "image/png")).build())
                .toolCall(tool("seats", "Books seats.", none), Server::seats)
                .toolCall(tool("capital", "Asks the model.", none), Server::capital)
                .toolCall(tool("steps", "Reports progress.", none), Server::steps)
                .toolCall(tool("crash", "Ends the server.", none), (exchange, call) -> {
                    Runtime.getRuntime().halt(3);
                    return null;
                })
                .resourceTemplates(new SyncResourceTemplateSpecification(
                        ResourceTemplate.builder().uriTemplate("note://{number}").name("note").build(),
                        (exchange, read) -> new ReadResourceResult(List.of(new TextResourceContents(
                                read.uri(), "text/plain", "note " + read.uri().substring("note://".length()))))))
                .prompts(new SyncPromptSpecification(
                        new Prompt("review", "Reviews something.", List.of(new PromptArgument("what", null, true))),
                        (exchange, asked) -> new GetPromptResult(null, List.of(new PromptMessage(
                                Role.USER, new TextContent("Review " + asked.arguments().get("what")))))))
                .build();
    }

    static Tool tool(String name, String description, Map<String, Object> schema) {
        return Tool.builder().name(name).description(description).inputSchema(schema).build();
    }

    static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }

    static int number(CallToolRequest call, String name) {
        return ((Number) call.arguments().get(name)).intValue();
    }

    static CallToolResult seats(McpSyncServerExchange exchange, CallToolRequest call) {
        var form = Map.<String, Object>of(
                "type", "object", "properties", Map.of("count", Map.of("type", "integer")), "required", List.of("count"));
        var answer = exchange.createElicitation(ElicitRequest.builder("How many seats?", form).build());
        return text(answer.content().get("count") + " seats");
    }

    static CallToolResult capital(McpSyncServerExchange exchange, CallToolRequest call) {
        var question = new SamplingMessage(Role.USER, new TextContent("Capital of France?"));
        var answer = exchange.createMessage(CreateMessageRequest.builder(List.of(question), 10).build());
        return text(((TextContent) answer.content()).text());
    }

    static CallToolResult steps(McpSyncServerExchange exchange, CallToolRequest call) {
        var token = call.meta().get("progressToken");
        for (int i = 1; i <= 2; i++) {
            exchange.progressNotification(new ProgressNotification(token, i, 2.0, null));
            try {
                Thread.sleep(200);
            } catch (InterruptedException e) {
                break;
            }
        }
        return text("done");
    }
}
