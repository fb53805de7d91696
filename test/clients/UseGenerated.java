import client.ApiClient;
import client.ApiException;
import client.api.ChannelsApi;
import client.api.LoginApi;
import client.api.TransfersApi;
import client.model.ChannelResponse;
import client.model.LoginV2;
import client.model.Transfer;
import java.net.URI;

/** Uses the client that a generator made of the OpenAPI document: a channel is read, changed and written, and it sends. */
public class UseGenerated {
  public static void main(String[] arguments) throws Exception {
    URI node = URI.create(arguments[0]);
    ApiClient client =
        new ApiClient().setScheme(node.getScheme()).setHost(node.getHost()).setPort(node.getPort());
    String token =
        new LoginApi(client)
            .loginV2(new LoginV2().username(arguments[1]).password(arguments[2]))
            .getToken();
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));

    ChannelsApi channels = new ChannelsApi(client);
    ChannelResponse found =
        channels.listChannels(1, 100, null).getContent().stream()
            .filter(one -> "Payroll".equals(one.getName()))
            .findFirst()
            .orElseThrow();
    String code =
        found.getLocalEntity() + "-" + found.getRemoteEntity() + "-" + found.getApplication();

    ChannelResponse channel = channels.channelConfiguration(code).get(0);
    channel.setCategory("WAGES");
    System.out.println(channels.updateChannel(code, channel).getCategory());

    TransfersApi transfers = new TransfersApi(client);
    Transfer transfer = transfers.sendTransfer(code);
    while (transfer.getStatus() == Transfer.StatusEnum.PENDING
        || transfer.getStatus() == Transfer.StatusEnum.IN_PROGRESS) {
      Thread.sleep(50);
      transfer = transfers.transferDetail(code, transfer.getTransferId());
    }
    System.out.println(transfer.getStatus() + " " + transfer.getFiles().get(0).getFileName());

    try {
      transfers.sendTransfer(code);
    } catch (ApiException refused) {
      System.out.println(refused.getCode());
    }
  }
}
