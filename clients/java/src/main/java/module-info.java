/** Locks of a Holdfast cluster over its HTTP API, with nothing but the JDK. */
module dev.holdfast {
  requires java.net.http;

  exports dev.holdfast;
}
