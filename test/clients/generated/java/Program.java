import generated.ApiClient;
import generated.ApiException;
import generated.api.LeasesApi;
import generated.api.ViewsApi;
import generated.model.Lease;
import generated.model.LookedAtKey;
import generated.model.Problem;
import generated.model.TakeAll;
import generated.model.WantedItem;
import java.util.List;

/** Takes and gives back locks with what openapi-generator generates for Java. */
public final class Program {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    LeasesApi leases = new LeasesApi(client);
    String key = "generated/java";

    Lease taken = leases.takeLease(key, "30s", "first", null, null, null, null, null, null, null);
    System.out.println(taken.getToken() > 0 ? "taken" : taken);
    try {
      leases.takeLease(key, "30s", "second", null, null, null, null, null, "1", null);
    } catch (ApiException refused) {
      Problem problem = ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), Problem.class);
      System.out.println("refused: " + problem.getCode());
    }
    var queued = leases.takeLeaseWithHttpInfo(key, "30s", "second", "10s", "1s", null, null, null, "1", null);
    System.out.println(queued.getStatusCode() == 202 && queued.getData().getToken() == null ? "queued" : queued);
    System.out.println("extended: " + (leases.extendLease(key, "60s", "first").getTrustMs() > 30_000));
    LookedAtKey seen = new ViewsApi(client).lookAtKey(key, "first");
    boolean isMine = seen.getMine().getToken().equals(seen.getHolds().get(0).getToken());
    System.out.println("seen: " + seen.getKind().getValue() + " " + seen.getHolds().size() + " " + isMine);
    System.out.println("given back: " + leases.giveBackLease(key, "second").getReleased());
    System.out.println("given back: " + leases.giveBackLease(key, "first").getReleased());
    TakeAll all = new TakeAll().ttl("30s").items(
        List.of(new WantedItem().key(key), new WantedItem().key(key + "/permits").limit(3)));
    System.out.println("several: " + leases.takeLeaseOfAll("third", all, null, null).getSlots());
    System.out.println("given back: " + leases.giveBackLease(key, "third").getReleased());
  }
}
