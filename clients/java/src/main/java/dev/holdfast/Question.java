package dev.holdfast;

import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** A request, and for how long and at how many nodes it is made. */
final class Question {
  final String method;
  final String target;
  Map<String, String> headers = Map.of();

  /** Made again for each attempt; null: there is none. */
  Supplier<String> body;

  /** For how long to look for a node that accepts it. At least one is asked. */
  long patienceMs;

  /** How long one node may take to answer, to the last byte. */
  long silenceMs = Nodes.ANSWER_MS;

  /** Ask each node once, without pauses, whatever the patience. */
  boolean isOnceEach;

  /** Whether the answer is no longer of use. */
  BooleanSupplier isOver = () -> false;

  Question(String method, String target, long patienceMs) {
    this.method = method;
    this.target = target;
    this.patienceMs = patienceMs;
  }

  /** What ends a lock, or a wait. A closed client sends nothing else. */
  boolean isGiveBack() {
    return method.equals("DELETE");
  }
}
