import dev.holdfast.Client;
import dev.holdfast.Lock;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Runs the job of the page about Java in a context of Spring, and closes it while a lock is held. */
public final class SpringContext {
  public static void main(String[] arguments) throws Exception {
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Jobs.class);
    context.getBean(Invoices.class).send();
    Lock held = context.getBean(Client.class).lock("jobs/held").acquire();
    context.close();
    System.out.println("lost when the context is closed: " + held.lost().join().reason());
  }
}
