package dev.holdfast;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes JSON, as RFC 8259 defines it and nothing more: objects are maps, arrays are lists, whole numbers are
 * {@code Long}s if they fit, other numbers are {@code Double}s. What it reads cannot be changed.
 */
final class Json {
  /** The most levels of arrays and objects within each other. */
  private static final int DEPTH_MAX = 64;

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** Throws IllegalArgumentException if the text is not one value of JSON. */
  static Object read(String text) {
    Json json = new Json(text);
    json.skipBlanks();
    Object value = json.value(0);
    json.skipBlanks();
    if (json.at < text.length()) throw json.wrong("one value");
    return value;
  }

  /** @param value maps with texts as keys, iterables, texts, numbers that are whole, booleans and null */
  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(value, out);
    return out.toString();
  }

  private Object value(int depth) {
    if (depth > DEPTH_MAX) throw wrong("at most " + DEPTH_MAX + " levels");
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", null);
      default:
        return number();
    }
  }

  private Map<String, Object> object(int depth) {
    Map<String, Object> members = new LinkedHashMap<>();
    at++;
    skipBlanks();
    for (boolean isFirst = true; !takes('}'); isFirst = false) {
      if (!isFirst) take(',');
      skipBlanks();
      if (peek() != '"') throw wrong("a name");
      String name = string();
      skipBlanks();
      take(':');
      skipBlanks();
      Object value = value(depth + 1);
      if (members.containsKey(name)) throw wrong("each name once");
      members.put(name, value);
      skipBlanks();
    }
    return Collections.unmodifiableMap(members);
  }

  private List<Object> array(int depth) {
    List<Object> elements = new ArrayList<>();
    at++;
    skipBlanks();
    for (boolean isFirst = true; !takes(']'); isFirst = false) {
      if (!isFirst) take(',');
      skipBlanks();
      elements.add(value(depth + 1));
      skipBlanks();
    }
    return Collections.unmodifiableList(elements);
  }

  private String string() {
    StringBuilder string = new StringBuilder();
    at++;
    while (true) {
      char next = peek();
      if (next < ' ') throw wrong("a character that is not a control character");
      at++;
      if (next == '"') return string.toString();
      string.append(next == '\\' ? escaped() : next);
    }
  }

  private char escaped() {
    char next = peek();
    at++;
    switch (next) {
      case '"':
      case '\\':
      case '/':
        return next;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        int unit = 0;
        for (int digits = 0; digits < 4; digits++, at++) {
          char digit = peek();
          int value = digit < 128 ? Character.digit(digit, 16) : -1;
          if (value < 0) throw wrong("four hexadecimal digits");
          unit = unit * 16 + value;
        }
        return (char) unit;
      default:
        throw wrong("an escape");
    }
  }

  private Number number() {
    int begin = at;
    takes('-');
    if (!takes('0')) digits();
    boolean isWhole = true;
    if (takes('.')) {
      isWhole = false;
      digits();
    }
    if (takes('e') || takes('E')) {
      isWhole = false;
      if (!takes('+')) takes('-');
      digits();
    }
    String number = text.substring(begin, at);
    try {
      if (isWhole) return Long.valueOf(number);
    } catch (NumberFormatException tooLong) {
      // It fits into a double.
    }
    double value = Double.parseDouble(number);
    if (Double.isInfinite(value)) throw wrong("a number of 64 bits");
    return value;
  }

  private void digits() {
    int begin = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
    if (at == begin) throw wrong("a value");
  }

  private Object word(String word, Object value) {
    if (!text.startsWith(word, at)) throw wrong("a value");
    at += word.length();
    return value;
  }

  private void skipBlanks() {
    while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
  }

  private boolean takes(char wanted) {
    boolean isThere = at < text.length() && text.charAt(at) == wanted;
    if (isThere) at++;
    return isThere;
  }

  private void take(char wanted) {
    if (!takes(wanted)) throw wrong("'" + wanted + "'");
  }

  private char peek() {
    if (at >= text.length()) throw wrong("more");
    return text.charAt(at);
  }

  private IllegalArgumentException wrong(String expected) {
    return new IllegalArgumentException("character " + at + " of JSON: expected " + expected);
  }

  private static void write(Object value, StringBuilder out) {
    if (value instanceof Map) {
      String separator = "{";
      for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
        write(String.valueOf(member.getKey()), out.append(separator));
        write(member.getValue(), out.append(':'));
        separator = ",";
      }
      out.append(separator.equals("{") ? "{}" : "}");
    } else if (value instanceof Iterable) {
      String separator = "[";
      for (Object element : (Iterable<?>) value) {
        write(element, out.append(separator));
        separator = ",";
      }
      out.append(separator.equals("[") ? "[]" : "]");
    } else if (value instanceof String) {
      writeString((String) value, out);
    } else {
      out.append(value);
    }
  }

  private static void writeString(String value, StringBuilder out) {
    out.append('"');
    for (char each : value.toCharArray()) {
      if (each == '"' || each == '\\') out.append('\\').append(each);
      else if (each < ' ') out.append(String.format("\\u%04x", (int) each));
      else out.append(each);
    }
    out.append('"');
  }
}
