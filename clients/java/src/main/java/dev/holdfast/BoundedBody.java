package dev.holdfast;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * Collects the body of an answer, up to a limit. {@code abort} ends the connection at once; cancelling the request does
 * that as well from Java 16 on.
 */
final class BoundedBody implements HttpResponse.BodySubscriber<byte[]> {
  private static final int BYTES_MAX = 8 << 20;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
  private Flow.Subscription subscription;
  private boolean isAborted;

  @Override
  public CompletionStage<byte[]> getBody() {
    return whole;
  }

  @Override
  public synchronized void onSubscribe(Flow.Subscription given) {
    subscription = given;
    if (isAborted) given.cancel();
    else given.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(List<ByteBuffer> pieces) {
    for (ByteBuffer piece : pieces) {
      if (bytes.size() + piece.remaining() > BYTES_MAX) {
        abort();
        whole.completeExceptionally(new IOException("the answer has more than " + BYTES_MAX + " bytes"));
        return;
      }
      byte[] part = new byte[piece.remaining()];
      piece.get(part);
      bytes.write(part, 0, part.length);
    }
  }

  @Override
  public void onError(Throwable error) {
    whole.completeExceptionally(error);
  }

  @Override
  public void onComplete() {
    whole.complete(bytes.toByteArray());
  }

  synchronized void abort() {
    isAborted = true;
    if (subscription != null) subscription.cancel();
  }
}
